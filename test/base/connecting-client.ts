import { connect } from 'node:net'

/** Connects to a port again and again, from several places at once, and counts what becomes of it. */
const port = Number(process.argv[2])
const counts = { done: 0, reset: 0 }
let stopping = false

const exchange = (): Promise<void> =>
  new Promise(resolve => {
    const socket = connect(port, '127.0.0.1', () => socket.write('work'))
    socket.on('data', () => {
      counts.done++
      socket.destroy()
    })
    socket.on('error', () => counts.reset++)
    socket.on('close', () => resolve())
  })

process.once('message', () => (stopping = true))
const running = Array.from({ length: 4 }, async () => {
  while (!stopping) await exchange()
})
process.send?.('started')
await Promise.all(running)
process.send?.(counts)
process.disconnect?.()
