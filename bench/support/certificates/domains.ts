import { LocalAuthority, makeLocalRoot, type Leaf } from '#pki/local-authority.ts'
import { spawnServer, type Process } from '../../../test/support/server.ts'

const AT_ONCE = 32

/** A name and a certificate for it, with a P-256 key. */
export interface Domain {
  readonly name: string
  readonly leaf: Leaf
}

/** So many domains with certificates of one CA. */
export async function makeDomains(count: number): Promise<Domain[]> {
  const authority = await LocalAuthority.open(await makeLocalRoot('Benchmark'))
  const names = Array.from({ length: count }, (_, at) => `domain-${at}.example.test`)
  return Promise.all(names.map(async name => ({ name, leaf: await authority.issue([name]) })))
}

const start = (dataDir: string): Promise<Process> =>
  spawnServer(dataDir, { ADIT_SSH_ADDR: 'off', ADIT_DOMAIN: 'gate.test', ADIT_LOG_LEVEL: 'error' })

async function make({ api }: Process, path: string, body: object): Promise<string> {
  const answer = await api.post(path, body)
  if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body.id
}

/** Reserves the domains with their certificates in a data folder, through the API. */
async function fill(dataDir: string, domains: readonly Domain[]): Promise<void> {
  const server = await start(dataDir)
  const left = domains.values()
  const work = async (): Promise<void> => {
    for (const { name, leaf } of left) {
      const pem = { certificate_pem: leaf.certificatePem, private_key_pem: leaf.privateKeyPem.reveal() }
      const certificate_id = await make(server, '/tls_certificates', pem)
      await make(server, '/reserved_domains', { domain: name, certificate_id })
    }
  }
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, work))
  } finally {
    await server.end('SIGTERM')
  }
}

/** `adit serve` with these domains, and the seconds until it was ready. */
export class AditHost implements AsyncDisposable {
  readonly port: number
  readonly pid: number
  readonly seconds: number
  readonly #process: Process

  private constructor(process: Process, seconds: number) {
    this.#process = process
    this.port = process.bound.https?.port ?? 0
    this.pid = process.child.pid ?? -1
    this.seconds = seconds
  }

  static async start(dataDir: string, domains: readonly Domain[]): Promise<AditHost> {
    await fill(dataDir, domains)
    const begun = performance.now()
    const server = await start(dataDir)
    const { status } = await server.api.get('/readyz')
    const seconds = (performance.now() - begun) / 1000
    if (status === 200) return new AditHost(server, seconds)
    await server.end('SIGTERM')
    throw new Error(`/readyz answered ${status}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process.end('SIGTERM')
  }
}
