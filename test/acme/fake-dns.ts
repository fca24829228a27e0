import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'

const HEAD_BYTES = 12
const TYPE_A = 1

/** A name server that has the same address for every name. */
export class FakeDns implements Disposable {
  readonly at: string
  readonly #socket: Socket

  private constructor(socket: Socket) {
    this.#socket = socket
    this.at = `127.0.0.1:${socket.address().port}`
  }

  static async start(address: string): Promise<FakeDns> {
    const socket = createSocket('udp4').bind(0, '127.0.0.1')
    await once(socket, 'listening')
    const rdata = Buffer.from(address.split('.').map(Number))
    socket.on('message', (query, { port, address: from }) => socket.send(answer(query, rdata), port, from))
    return new FakeDns(socket)
  }

  [Symbol.dispose](): void {
    this.#socket.close()
  }
}

/** The question, and behind it one record that points back to its name. */
function answer(query: Buffer, rdata: Buffer): Buffer {
  const end = query.indexOf(0, HEAD_BYTES) + 1
  const isAddress = query.readUInt16BE(end) === TYPE_A
  const question = Buffer.from(query.subarray(0, end + 4))
  question.writeUInt16BE(0x8180, 2)
  question.writeUInt16BE(isAddress ? 1 : 0, 6)
  question.writeUInt32BE(0, 8)
  const record = Buffer.from([0xc0, HEAD_BYTES, 0, TYPE_A, 0, 1, 0, 0, 0, 0, 0, rdata.length])
  return isAddress ? Buffer.concat([question, record, rdata]) : question
}
