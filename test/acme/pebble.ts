import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { LocalAuthority, makeLocalRoot } from '#pki/local-authority.ts'
import { freePorts } from '../support/free-ports.ts'
import { Folder } from '../support/folder.ts'

const HOST = '127.0.0.1'

export interface PebbleOptions {
  /** Percent of nonces that are refused. */
  readonly nonceReject?: number
  /** Percent of orders that need no new proof. */
  readonly authzReuse?: number
  /** At most so many seconds pass before a challenge is checked; none by default. */
  readonly sleepTime?: number
  readonly blocklist?: readonly string[]
  /** Lifetime of certificates in seconds; years by default. */
  readonly validity?: number
  /** Where challenges are looked for, instead of at the challenge server. */
  readonly httpPort?: number
  readonly tlsPort?: number
  readonly dnsPort?: number
  /** The listening address of the CA and its name server, if these are not on loopback. */
  readonly host?: string
  readonly dnsServer?: string
  /** The address that the challenge server's DNS has for every name; none by default. */
  readonly leadsTo?: string
  /** A command that runs the command behind it elsewhere, as in a network namespace. */
  readonly inside?: readonly string[]
}

/**
 * Resolves when the program has written a matching line. Its output is still read afterwards, so that it never blocks.
 */
async function says(program: ChildProcess, pattern: RegExp, lines: string[] = []): Promise<void> {
  const { stdout } = program
  if (stdout === null) throw new Error('its output is not a pipe')
  await new Promise<void>((resolve, reject) => {
    createInterface(stdout).on('line', line => {
      lines.push(line)
      if (pattern.test(line)) resolve()
    })
    program.once('exit', code => reject(new Error(`${program.spawnfile} ended with ${code}`)))
    program.once('error', reject)
  })
}

async function stop(program: ChildProcess): Promise<void> {
  if (program.exitCode !== null || program.signalCode !== null) return
  program.kill('SIGKILL')
  await once(program, 'exit')
}

/** An authority, and a server that answers its queries as configured: Debian's `pebble` and its challenge server. */
export class Pebble implements AsyncDisposable {
  readonly directory: string
  /** The root of the authority's own listener, in a file. */
  readonly rootFile: string
  /** Answers DNS questions, for the authority and for us. */
  readonly dns: string
  /** What the authority has written about its work. */
  readonly logged: readonly string[]
  readonly #manage: string
  readonly #parts: AsyncDisposableStack

  private constructor(
    places: { directory: string; rootFile: string; dns: string; manage: string; logged: readonly string[] },
    parts: AsyncDisposableStack,
  ) {
    this.directory = places.directory
    this.rootFile = places.rootFile
    this.dns = places.dns
    this.logged = places.logged
    this.#manage = places.manage
    this.#parts = parts
  }

  static async start(options: PebbleOptions = {}): Promise<Pebble> {
    await using parts = new AsyncDisposableStack()
    const folder = parts.use(new Folder())
    const [acme = 0, management = 0, http = 0, tls = 0, dns = 0, manage = 0] = await freePorts(6)
    const { host = HOST, inside = [] } = options
    const at = (port: number) => `${host}:${port}`
    const run = (...command: string[]): ChildProcess => {
      const [program = '', ...args] = [...inside, ...command]
      return spawn(program, args, { env: environment(options) })
    }
    const rootFile = await writeIdentity(folder, host)
    const config = {
      listenAddress: at(acme),
      managementListenAddress: at(management),
      certificate: folder.file('pebble.pem'),
      privateKey: folder.file('pebble.key'),
      httpPort: options.httpPort ?? http,
      tlsPort: options.tlsPort ?? tls,
      externalAccountBindingRequired: false,
      domainBlocklist: options.blocklist ?? [],
      ...(options.validity !== undefined && { certificateValidityPeriod: options.validity }),
    }
    const file = await folder.write('pebble.json', JSON.stringify({ pebble: config }))
    const flags = ['-dns01', at(dns), '-http01', at(http), '-tlsalpn01', at(tls), '-management', at(manage)]
    const names = ['-https01', '', '-defaultIPv4', options.leadsTo ?? '', '-defaultIPv6', '']
    const answers = run('pebble-challtestsrv', ...flags, ...names)
    parts.defer(() => stop(answers))
    const resolver = options.dnsServer ?? at(options.dnsPort ?? dns)
    const pebble = run('pebble', '-config', file, '-strict', '-dnsserver', resolver)
    parts.defer(() => stop(pebble))
    const logged: string[] = []
    await Promise.all([
      says(answers, /Starting management/),
      says(pebble, /Listening on|directory available/, logged),
    ])
    const directory = `https://${at(acme)}/dir`
    const places = { directory, rootFile, dns: at(dns), manage: `http://${at(manage)}`, logged }
    return new Pebble(places, parts.move())
  }

  /** Configures the responses of the challenge server. */
  async configure(what: string, body: object): Promise<void> {
    const answer = await fetch(`${this.#manage}/${what}`, { method: 'POST', body: JSON.stringify(body) })
    if (!answer.ok) throw new Error(`${what}: ${answer.status} ${await answer.text()}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.disposeAsync()
  }
}

async function writeIdentity(folder: Folder, host: string): Promise<string> {
  const root = await makeLocalRoot('Root of the authority')
  const leaf = await (await LocalAuthority.open(root)).issue([host])
  await folder.write('pebble.pem', leaf.certificatePem)
  await folder.write('pebble.key', leaf.privateKeyPem.reveal())
  return folder.write('root.pem', root.certificatePem)
}

function environment({ nonceReject = 0, authzReuse = 0, sleepTime }: PebbleOptions): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '',
    PEBBLE_WFE_NONCEREJECT: String(nonceReject),
    PEBBLE_AUTHZREUSE: String(authzReuse),
    ...(sleepTime === undefined ? { PEBBLE_VA_NOSLEEP: '1' } : { PEBBLE_VA_SLEEPTIME: String(sleepTime) }),
  }
}
