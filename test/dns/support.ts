import { execFile } from 'node:child_process'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { IN } from '#dns/message.ts'
import { addressSets, caaSet, cnameSet, nsSet, txtSet, type RecordSet } from '#dns/records.ts'
import { DnsServer, type DnsServerOptions } from '#dns/server.ts'
import { Zone, ZoneTable } from '#dns/zone.ts'
import { testLog } from '../support/secrets.ts'

const run = promisify(execFile)

const SOA = {
  primary: 'ns1.example.com',
  mailbox: 'hostmaster.example.com',
  serial: 7,
  negativeTtl: 30,
}

const at = (name: string, ...addresses: string[]): [string, RecordSet][] =>
  addressSets(addresses, 300).map(set => [name, set])

/** One with something of everything. */
export const exampleZone = (): Zone => {
  const zone = new Zone('example.com', SOA, [
    ['example.com', nsSet(['ns1.example.com', 'ns2.example.com'], 3600)],
    ['example.com', caaSet(['letsencrypt.org'], 300)],
    ...at('example.com', '192.0.2.1', '2001:db8::1'),
    ...at('*.example.com', '192.0.2.2', '2001:db8::2'),
    ...at('ns1.example.com', '192.0.2.3'),
    ...at('only4.example.com', '192.0.2.4'),
    ...at('*.cname.example.com', '192.0.2.5'),
    ...at('deep.under.empty.example.com', '192.0.2.6'),
    ['alias.example.com', cnameSet('only4.example.com', 300)],
    ['far.example.com', cnameSet('elsewhere.example.net', 300)],
    ['broken.example.com', cnameSet('missing.acme.example.com', 300)],
    ['round.example.com', cnameSet('about.example.com', 300)],
    ['about.example.com', cnameSet('round.example.com', 300)],
    ['two.acme.example.com', txtSet(['first proof', 'second proof'], 1)],
    ['long.acme.example.com', txtSet(['x'.repeat(600)], 1)],
    [
      'big.acme.example.com',
      txtSet(
        Array.from({ length: 40 }, (_, n) => `${n} `.padEnd(100, 'y')),
        1,
      ),
    ],
  ])
  zone.reserve('acme.example.com')
  return zone
}

/** Enough for a test that does not mean to meet the limit. */
export const UNLIMITED_RATE = { perSecond: 1e9, burst: 1e9 }

interface TestDns extends AsyncDisposable {
  readonly port: number
  readonly server: DnsServer
}

export async function startTestDns(options: Partial<DnsServerOptions> = {}): Promise<TestDns> {
  const zones = new ZoneTable([exampleZone()])
  const server = new DnsServer({ zones, log: testLog(), ...options })
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
  return {
    port,
    server,
    async [Symbol.asyncDispose]() {
      server.close()
    },
  }
}

export interface DigResult {
  readonly text: string
  readonly status: string
  readonly flags: readonly string[]
  /** `name ttl class type data`, with single spaces. */
  readonly answers: readonly string[]
  readonly authority: readonly string[]
}

const section = (text: string, name: string): string[] => {
  const [, body = ''] = new RegExp(`^;; ${name} SECTION:\\n((?:[^\\n]+\\n)*)`, 'm').exec(text) ?? []
  return body
    .split('\n')
    .filter(line => line !== '' && !line.startsWith(';'))
    .map(line => line.replace(/\s+/g, ' ').trim())
}

function parsed(text: string): DigResult {
  return {
    text,
    status: /status: (\w+)/.exec(text)?.[1] ?? '',
    flags: /^;; [Ff]lags: ([^;]*);/m.exec(text)?.[1]?.split(' ') ?? [],
    answers: section(text, 'ANSWER'),
    authority: section(text, 'AUTHORITY'),
  }
}

/** Asks with `dig` of BIND. */
export async function dig(port: number, ...args: string[]): Promise<DigResult> {
  const fixed = ['@127.0.0.1', '-p', String(port), '+tries=1', '+timeout=5', '+norecurse']
  const { stdout } = await run('/usr/bin/dig', [...fixed, ...args], { timeout: 60_000 })
  return parsed(stdout)
}

/** Asks with `kdig` of Knot. */
export async function kdig(port: number, ...args: string[]): Promise<DigResult> {
  const fixed = ['@127.0.0.1', '-p', String(port), '+retry=0', '+timeout=5', '+norec']
  const { stdout } = await run('/usr/bin/kdig', [...fixed, ...args], { timeout: 60_000 })
  return parsed(stdout)
}

export const wireName = (name: string): Buffer =>
  Buffer.concat([
    ...name.split('.').flatMap(label => [Buffer.from([label.length]), Buffer.from(label, 'latin1')]),
    Buffer.alloc(1),
  ])

interface QueryParts {
  readonly id?: number
  readonly flags?: number
  readonly class?: number
  /** Whole records. */
  readonly additional?: readonly Buffer[]
}

/** The bytes of a query. */
export function queryBytes(name: string, type: number, parts: QueryParts = {}): Buffer {
  const { id = 0x1234, flags = 0, class: family = IN, additional = [] } = parts
  const numbers = (...values: number[]) => Buffer.from(values.flatMap(value => [value >> 8, value & 0xff]))
  return Buffer.concat([
    numbers(id, flags, 1, 0, 0, additional.length),
    wireName(name),
    numbers(type, family),
    ...additional,
  ])
}

/** A record for EDNS with these options. */
export function opt({ payload = 1232, version = 0, options = Buffer.alloc(0) } = {}): Buffer {
  const head = Buffer.from([0, 0, 41, payload >> 8, payload & 0xff, 0, version, 0, 0, 0, options.length])
  return Buffer.concat([head, options])
}

/** A client over UDP. */
export class UdpClient implements Disposable {
  readonly #socket: Socket
  readonly #port: number

  constructor(port: number) {
    this.#socket = createSocket('udp4')
    this.#port = port
  }

  send(bytes: Buffer): void {
    this.#socket.send(bytes, this.#port, '127.0.0.1')
  }

  async ask(bytes: Buffer): Promise<Buffer> {
    const answered = once(this.#socket, 'message', { signal: AbortSignal.timeout(30_000) })
    this.send(bytes)
    const [reply] = (await answered) as [Buffer]
    return reply
  }

  [Symbol.dispose](): void {
    this.#socket.close()
  }
}
