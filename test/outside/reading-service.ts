import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A service that answers when it has read the whole request, and prints its port. */
const service = createServer((request, response) => {
  request.resume().on('end', () => response.end('read\n'))
})
service.listen(0, '127.0.0.1', () => console.log((service.address() as AddressInfo).port))
