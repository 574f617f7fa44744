RIVALS = {}
