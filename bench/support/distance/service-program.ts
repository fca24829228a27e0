import { createServer } from 'node:http'

/** Sends zeros until the client disconnects, on the port of its argument. */
const piece = Buffer.alloc(65_536)
createServer((_, response) => {
  const fill = (): void => {
    while (response.write(piece));
  }
  response.on('drain', fill)
  fill()
}).listen(Number(process.argv[2]), () => console.log('listening'))
