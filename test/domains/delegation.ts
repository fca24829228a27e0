import { createSocket } from 'node:dgram'

/**
 * A name server of the rest of the world, as a program: `delegation.ts LISTEN AUTHORITY`. It knows no name until it reads
 * a line; from then on all names are delegated to the authority.
 */
const [listen = '', authority = ''] = process.argv.slice(2)
const NOT_THERE = 0x8183
const TIMEOUT_MS = 2000
let isDelegated = false

const server = createSocket('udp4')
server.on('message', (query, from) => {
  if (!isDelegated) {
    const answer = Buffer.from(query)
    answer.writeUInt16BE(NOT_THERE, 2)
    server.send(answer, from.port, from.address)
    return
  }
  const upstream = createSocket('udp4')
  const over = setTimeout(() => upstream.close(), TIMEOUT_MS)
  upstream.once('message', answer => {
    clearTimeout(over)
    upstream.close()
    server.send(answer, from.port, from.address)
  })
  upstream.send(query, 53, authority)
})
server.bind(53, listen, () => process.stdout.write('ready\n'))
process.stdin.once('data', () => (isDelegated = true)).once('end', () => process.exit(0))
