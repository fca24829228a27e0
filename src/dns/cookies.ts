import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { CLIENT_COOKIE_BYTES } from '#dns/message.ts'

const TIME_BYTES = 4
const MAC_BYTES = 12
const COOKIE_BYTES = CLIENT_COOKIE_BYTES + TIME_BYTES + MAC_BYTES
const VALID_S = 3600
const CLOCK_SKEW_S = 60

/** RFC 7873: a client that returns our cookie has proved its address. */
export class Cookies {
  readonly #key = randomBytes(32)
  readonly #now: () => number

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  /** The cookie of the response: the client's half and ours. */
  reply(cookie: Buffer, address: string): Buffer {
    const client = cookie.subarray(0, CLIENT_COOKIE_BYTES)
    const time = Buffer.alloc(TIME_BYTES)
    time.writeUInt32BE(this.#seconds())
    return Buffer.concat([client, time, this.#mac(client, time, address)])
  }

  isOurs(cookie: Buffer, address: string): boolean {
    if (cookie.length !== COOKIE_BYTES) return false
    const [timeAt, macAt] = [CLIENT_COOKIE_BYTES, CLIENT_COOKIE_BYTES + TIME_BYTES]
    const age = this.#seconds() - cookie.readUInt32BE(timeAt)
    if (age > VALID_S || age < -CLOCK_SKEW_S) return false
    const mac = this.#mac(cookie.subarray(0, timeAt), cookie.subarray(timeAt, macAt), address)
    return timingSafeEqual(mac, cookie.subarray(macAt))
  }

  #seconds(): number {
    return Math.floor(this.#now() / 1000) >>> 0
  }

  #mac(client: Buffer, time: Buffer, address: string): Buffer {
    return createHmac('sha256', this.#key)
      .update(client)
      .update(time)
      .update(address)
      .digest()
      .subarray(0, MAC_BYTES)
  }
}
