/* Browsers start no workers for pages that are opened from a disk. There, a hidden frame does the search's work. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super()
      this.waiting = []
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.append(this.frame)
      const inside = this.frame.contentWindow
      inside.postMessage = data => {
        const event = new MessageEvent("message", { data })
        this.dispatchEvent(event)
        if (this.onmessage) this.onmessage(event)
      }
      const load = source => new Promise((resolve, reject) => {
        const script = inside.document.createElement("script")
        script.src = source
        script.onload = resolve
        script.onerror = reject
        inside.document.body.append(script)
      })
      inside.importScripts = (...sources) =>
        sources.reduce((before, source) => before.then(() => load(source)), Promise.resolve())
      load(address).then(() => {
        for (const data of this.waiting.splice(0)) this.send(data)
        this.waiting = null
      })
    }

    send(data) {
      const inside = this.frame.contentWindow
      inside.dispatchEvent(new inside.MessageEvent("message", { data }))
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data)
      else this.send(data)
    }

    terminate() {
      this.frame.remove()
    }
  }
}
