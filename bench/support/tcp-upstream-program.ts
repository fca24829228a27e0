import { createServer, type AddressInfo } from 'node:net'

const BULK = 'B'.charCodeAt(0)
const piece = Buffer.alloc(256 * 1024, 'adit')

/** Behind TCP tunnels: echoes, or after a first byte "B" sends as fast as it is read. */
process.on('message', () => {
  const server = createServer({ noDelay: true }, socket => {
    socket.on('error', () => socket.destroy())
    socket.once('data', first => {
      if (first[0] !== BULK) {
        socket.write(first)
        socket.pipe(socket)
        return
      }
      const fill = () => {
        while (!socket.destroyed && socket.write(piece)) continue
      }
      socket.on('drain', fill)
      fill()
    })
  })
  server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
})
