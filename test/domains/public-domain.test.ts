import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { Pebble } from '../acme/pebble.ts'
import { recordDataFolder, recordOutput, recordedOutputOf } from '../support/leaks.ts'
import { program } from '../support/program.ts'
import { Namespace } from './namespace.ts'
import { until } from '../support/until.ts'
import { Folder } from '../support/folder.ts'

const ADDRESS = '5.5.5.5'
/** Of the authority, and of the name server that it and the server ask. Public, so that nothing has to be allowed. */
const AUTHORITY = '5.5.6.1'
const RESOLVER = '5.5.6.2'
const DOMAIN = 'example.org'
const PATIENCE_MS = 120_000

/** `adit serve` in a network of its own, with no more settings than are given. */
class Server implements AsyncDisposable {
  readonly #folder = new Folder()
  readonly #child
  #stderr = ''
  #isOver = false
  stdout = ''

  /** `by` is a command that runs the command behind it. */
  constructor(
    network: Namespace,
    args: readonly string[],
    settings: Record<string, string>,
    by: readonly string[] = [],
  ) {
    const command = [...by, program, 'serve', ...args]
    const env = { PATH: process.env['PATH'], ADIT_DATA_DIR: this.#folder.path, ...settings }
    this.#child = recordOutput(network.spawn(command, { env }), ['serve'])
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text))
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#stderr += text))
    this.#child.once('close', () => (this.#isOver = true))
  }

  /** Resolves when it has written this. */
  async says(pattern: RegExp): Promise<void> {
    const what = () => `${pattern} is written, after:
${this.stdout}${this.#stderr}`
    const look = () => {
      const isWritten = pattern.test(this.stdout)
      if (!isWritten && this.#isOver) assert.fail(`it ended before ${what()}`)
      return isWritten
    }
    await until(look, { what, withinMs: PATIENCE_MS })
  }

  /** Where nothing else was written: the exit code, and why. */
  async refusal(): Promise<{ code: number | null; text: string }> {
    await once(this.#child, 'close')
    assert.equal(this.stdout, '')
    return { code: this.#child.exitCode, text: this.#stderr }
  }

  /** What it printed about the domain after the start, by line. */
  get reported(): string[] {
    const [, reported = ''] = this.stdout.split('Press Ctrl-C to stop.')
    return reported.split('\n').flatMap(line => (line.trim() === '' ? [] : [line.trim()]))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null) {
      const closed = once(this.#child, 'close')
      this.#child.kill('SIGTERM')
      await closed
    }
    const reported = recordedOutputOf(this.#child)
    recordDataFolder(this.#folder.path, reported)
    reported.end()
    this.#folder[Symbol.dispose]()
  }
}

/** The addresses with a listener, each with its protocol. */
async function listening(network: Namespace): Promise<string[]> {
  const lines = (await network.output(['ss', '-Hlntu'])).trim().split('\n')
  const places = lines.map(line => {
    const [protocol, , , , local] = line.split(/\s+/)
    return `${protocol} ${local}`
  })
  // The processes of a server share its ports.
  return [...new Set(places)]
}

/** The certificate that a client of the name gets. */
async function shown(network: Namespace, name: string): Promise<X509Certificate> {
  const command = ['openssl', 's_client', '-connect', `${ADDRESS}:443`, '-servername', name]
  return new X509Certificate(await network.output(command))
}

// Each has a network of its own; the first waits for the second DNS check of its server, and uses nothing meanwhile.
suite('adit serve --domain on a machine with a public address', { concurrency: 2 }, () => {
  test('opens its ports, prints what to set and the progress, and serves HTTPS on the domain', async () => {
    await using network = new Namespace([`${ADDRESS}/32`, `${AUTHORITY}/32`, `${RESOLVER}/32`])
    const delegation = network.spawn([
      process.execPath,
      join(import.meta.dirname, 'delegation.ts'),
      RESOLVER,
      ADDRESS,
    ])
    await once(delegation.stdout ?? delegation, 'data')
    const { inside } = network
    const dnsServer = `${RESOLVER}:53`
    await using pebble = await Pebble.start({
      host: AUTHORITY,
      dnsServer,
      inside,
      httpPort: 80,
      tlsPort: 443,
    })
    await using server = new Server(network, ['--domain', DOMAIN], {
      ADIT_ACME_DIRECTORY: pebble.directory,
      ADIT_ACME_CA_FILE: pebble.rootFile,
      ADIT_ACME_DNS: dnsServer,
    })
    await server.says(/Waiting for DNS/)
    const open = await listening(network)
    for (const port of [80, 443, 4443, 2222]) assert.ok(open.includes(`tcp 0.0.0.0:${port}`), open.join())
    for (const place of [`udp ${ADDRESS}:53`, `tcp ${ADDRESS}:53`, 'tcp 127.0.0.1:4600'])
      assert.ok(open.includes(place), open.join())
    for (const record of [
      'example.org +NS +ns1',
      'example.org +NS +ns2',
      'ns1.example.org +A +5',
      'ns2.+A +5',
    ])
      assert.match(server.stdout, new RegExp(`^ +${record}`, 'm'))
    delegation.stdin?.write('delegated\n')
    await server.says(/is served\.$/m)
    const [first = '', second = '', ...rest] = server.reported
    assert.equal(first, `Waiting for DNS of ${DOMAIN}: no record yet.`)
    assert.equal(second, `DNS of ${DOMAIN} points to this server.`)
    const [last, issued = '', ...before] = rest.toReversed()
    assert.equal(last, `https://${DOMAIN} is served.`)
    assert.match(issued, /^Certificate of example\.org: issued by Pebble .*, valid until 20\d\d-\d\d-\d\d\.$/)
    // How many of its states are seen depends on how quick the authority is.
    for (const line of before)
      assert.match(
        line,
        /^Certificate of example\.org: (about |being |ordered after the next DNS check, at 20)/,
      )
    for (const name of [DOMAIN, `shop.${DOMAIN}`]) {
      const certificate = await shown(network, name)
      assert.match(certificate.issuer, /Pebble/)
      assert.ok(certificate.checkHost(name))
    }
  })

  test('does so with records elsewhere, where it does not answer DNS', async () => {
    await using network = new Namespace([`${ADDRESS}/32`, `${AUTHORITY}/32`])
    const { inside } = network
    const ports = { httpPort: 80, tlsPort: 443 }
    await using pebble = await Pebble.start({ host: AUTHORITY, leadsTo: ADDRESS, inside, ...ports })
    await using server = new Server(network, ['--domain', DOMAIN], {
      ADIT_DNS_ADDR: 'off',
      ADIT_PUBLIC_ADDRESSES: ADDRESS,
      ADIT_ACME_DIRECTORY: pebble.directory,
      ADIT_ACME_CA_FILE: pebble.rootFile,
      ADIT_ACME_DNS: pebble.dns,
    })
    await server.says(/is served\.$/m)
    assert.match(server.stdout, /^ +\*\.example\.org +A +5\.5\.5\.5$/m)
    assert.doesNotMatch(server.stdout, /ns1\.example\.org/)
    const certificate = await shown(network, DOMAIN)
    assert.match(certificate.issuer, /Pebble/)
    assert.equal(certificate.subjectAltName, `DNS:${DOMAIN}`)
  })

  test('reports that no certificate is issued, where there is no authority', async () => {
    await using network = new Namespace([`${ADDRESS}/32`])
    const settings = { ADIT_ACME_DIRECTORY: 'off', ADIT_ACME_DNS: `${ADDRESS}:53` }
    await using server = new Server(network, ['--domain', DOMAIN], settings)
    await server.says(/ca\.pem/)
    assert.equal(server.reported[0], `DNS of ${DOMAIN} points to this server.`)
    assert.match(server.reported[1] ?? '', /^No certificate is ordered, because ADIT_ACME_DIRECTORY is off:/)
  })

  test('ends with one line that names the setting, where a port is taken', async () => {
    await using network = new Namespace([`${ADDRESS}/32`])
    const script = `require('net').createServer().listen(53, '${ADDRESS}', () => console.log('listens'))`
    const taker = network.spawn([process.execPath, '-e', script])
    await once(taker.stdout ?? taker, 'data')
    await using server = new Server(network, ['--domain', DOMAIN], { ADIT_ACME_DIRECTORY: 'off' })
    const { code, text } = await server.refusal()
    assert.equal(code, 1)
    assert.match(
      text,
      /^adit: cannot listen on 5\.5\.5\.5:53 \(ADIT_DNS_ADDR\): [^\n]* ADIT_DNS_ADDR=off [^\n]*\n$/,
    )
  })

  test('exits with one line about what to do, where it may not open a port', async () => {
    await using network = new Namespace([`${ADDRESS}/32`])
    const without = ['setpriv', '--bounding-set=-net_bind_service', '--inh-caps=-net_bind_service']
    await using server = new Server(network, ['--domain', DOMAIN], { ADIT_ACME_DIRECTORY: 'off' }, without)
    const { code, text } = await server.refusal()
    assert.equal(code, 1)
    assert.match(text, /^adit: [^\n]+:80 \(ADIT_HTTP_ADDR\): [^\n]+ CAP_NET_BIND_SERVICE[^\n]+\n$/)
  })

  test('leaves what is set as it is', async () => {
    await using network = new Namespace([`${ADDRESS}/32`])
    const settings = {
      ADIT_ACME_DIRECTORY: 'off',
      ADIT_DNS_ADDR: 'off',
      ADIT_HTTP_ADDR: '127.0.0.1:8080',
    }
    const args = ['--domain', DOMAIN, '--https-addr', `${ADDRESS}:8443`]
    await using server = new Server(network, args, settings)
    await server.says(/Ctrl-C/)
    const places = ['127.0.0.1:8080', `${ADDRESS}:8443`, '0.0.0.0:4443', '0.0.0.0:2222', '127.0.0.1:4600']
    assert.deepEqual((await listening(network)).toSorted(), places.map(place => `tcp ${place}`).toSorted())
    assert.match(server.stdout, /^ +ADIT_HTTP_ADDR=0\.0\.0\.0:80$/m)
    assert.match(server.stdout, /^ +\*\.example\.org +A +5\.5\.5\.5$/m)
  })
})

test('without a public address only configured listeners are open, and nothing is waited for', async () => {
  await using network = new Namespace(['10.1.2.3/32'])
  await using server = new Server(network, ['--domain', DOMAIN], { ADIT_ACME_DIRECTORY: 'off' })
  await server.says(/Ctrl-C/)
  for (const place of await listening(network)) assert.match(place, /^tcp 127\.0\.0\.1:/)
  assert.match(server.stdout, /^ +ADIT_PUBLIC_ADDRESSES=ADDRESS$/m)
  assert.match(server.stdout, /^ +ns1\.example\.org +A +ADDRESS$/m)
  assert.deepEqual(server.reported, [])
})
