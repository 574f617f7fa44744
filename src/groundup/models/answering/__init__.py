"""How clients are answered: requests in the forms that programs speak, replies and streams as they expect them."""
