import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'

const HEAD_BYTES = 12
const TYPE_A = 1
const TYPE_NS = 2
const TYPE_CNAME = 5
const ANSWER = 0x8180
const SERVER_FAILURE = 0x8182

/** A name server that has the same address for every name, and name servers for zones that are delegated. */
export class FakeDns implements Disposable {
  readonly at: string
  /** Undefined: no name has an address. */
  address: string | undefined
  readonly zones = new Map<string, readonly string[]>()
  /** Names that others lead to by a record. */
  readonly aliases = new Map<string, string>()
  /** Cannot answer any question. */
  fails = false
  readonly #socket: Socket

  private constructor(socket: Socket, address: string | undefined) {
    this.#socket = socket
    this.address = address
    this.at = `127.0.0.1:${socket.address().port}`
    socket.on('message', (query, { port, address: from }) => socket.send(this.#answer(query), port, from))
  }

  static async start(address?: string): Promise<FakeDns> {
    const socket = createSocket('udp4').bind(0, '127.0.0.1')
    await once(socket, 'listening')
    return new FakeDns(socket, address)
  }

  /** The question, and behind it records that point back to its name. */
  #answer(query: Buffer): Buffer {
    const end = query.indexOf(0, HEAD_BYTES) + 1
    const type = query.readUInt16BE(end)
    const data = this.fails ? [] : this.#data(type, nameIn(query.subarray(HEAD_BYTES, end)))
    const question = Buffer.from(query.subarray(0, end + 4))
    question.writeUInt16BE(this.fails ? SERVER_FAILURE : ANSWER, 2)
    question.writeUInt16BE(data.length, 6)
    question.writeUInt32BE(0, 8)
    const head = (length: number) => Buffer.from([0xc0, HEAD_BYTES, 0, type, 0, 1, 0, 0, 0, 0, 0, length])
    return Buffer.concat([question, ...data.flatMap(each => [head(each.length), each])])
  }

  #data(type: number, name: string): Buffer[] {
    if (type === TYPE_NS) return (this.zones.get(name) ?? []).map(labelsOf)
    if (type === TYPE_CNAME) return [this.aliases.get(name) ?? []].flat().map(labelsOf)
    if (type !== TYPE_A || this.address === undefined) return []
    return [Buffer.from(this.address.split('.').map(Number))]
  }

  [Symbol.dispose](): void {
    this.#socket.close()
  }
}

function nameIn(bytes: Buffer): string {
  const labels = []
  for (let at = 0, length = bytes[0] ?? 0; length > 0; at += length + 1, length = bytes[at] ?? 0)
    labels.push(bytes.toString('latin1', at + 1, at + 1 + length))
  return labels.join('.').toLowerCase()
}

const labelsOf = (name: string): Buffer =>
  Buffer.concat([
    ...name.split('.').map(label => Buffer.from([label.length, ...Buffer.from(label)])),
    Buffer.of(0),
  ])
