// An HTTP server that is reachable without a port on this machine:
// ADIT_AUTHTOKEN=$(cat data/authtoken) node_modules/.bin/node examples/http-server.ts
import { createServer } from 'node:http'
import { forward } from 'adit'

const server = createServer((request, response) => {
  response.end(`Hello ${request.socket.remoteAddress}, you asked for ${request.url}\n`)
})

const tunnel = await forward({
  onConnection: stream => server.emit('connection', stream),
})
console.log(tunnel.url)

process.once('SIGINT', () => void tunnel.close())
