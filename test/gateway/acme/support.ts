import { once } from 'node:events'
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls'
import { newId } from '#base/ids.ts'
import { openStore } from '#store/open.ts'
import type { Row, Store, Write } from '#store/store.ts'
import { HOST, visit, type Page } from '../../agent/support.ts'
import { startPostgres } from '../../support/postgres.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { until } from '../../support/until.ts'

interface Challenge {
  readonly type: 'http-01' | 'tls-alpn-01' | 'dns-01'
  readonly name: string
  readonly token: string
  readonly key_authorization: string
  readonly expires_at: string
}

const soon = (): string => new Date(Date.now() + 600_000).toISOString()

export const challenge = (type: Challenge['type'], name: string, token: string): Challenge => ({
  type,
  name,
  token,
  key_authorization: `${token}.thumbprint`,
  expires_at: soon(),
})

const rowOf = (kind: string, prefix: string, body: object): Row => {
  const id = newId(prefix)
  return { id, kind, parent: null, version: 1, body: JSON.stringify({ id, ...body }) }
}

const insertOf = (row: Row, refs: readonly string[] = []): Write => ({
  op: 'insert',
  entry: { row, refs, claims: [] },
})

export const askPlain = ({ bound }: Pick<TestServer, 'bound'>, host: string, token: string): Promise<Page> =>
  visit(`http://${host}:${bound.http?.port}/.well-known/acme-challenge/${token}`)

/** A server, and its database as another process sees it. */
export class World implements AsyncDisposable {
  readonly server: TestServer
  readonly store: Store
  readonly #parts: AsyncDisposableStack

  private constructor(server: TestServer, store: Store, parts: AsyncDisposableStack) {
    this.server = server
    this.store = store
    this.#parts = parts
  }

  static async start(settings: Record<string, string> = {}): Promise<World> {
    await using parts = new AsyncDisposableStack()
    const database = parts.adopt(await startPostgres(), each => each.stop())
    const url = await database.newDatabase()
    const server = parts.use(await startServer({ database_url: url, ...settings }))
    const store = parts.use(await openStore({ databaseUrl: url, dataDir: server.dataDir }))
    return new World(server, store, parts.move())
  }

  /** Writes to the database; resolves when the gateway knows. */
  async write(batch: readonly Write[]): Promise<void> {
    const last = challenge('http-01', 'sentinel.test', newId('x'))
    const outcome = await this.store.commit([...batch, insertOf(rowOf('acme_challenge', 'ach', last))])
    if (!outcome.ok) throw new Error(JSON.stringify(outcome.refusal))
    // What the server writes itself makes it look, too, at what others have written.
    await this.server.api.post('/ip_policies')
    await until(async () => (await askPlain(this.server, last.name, last.token)).status === 200)
  }

  async publish(...challenges: readonly Challenge[]): Promise<void> {
    await this.write(challenges.map(each => insertOf(rowOf('acme_challenge', 'ach', each))))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#parts.disposeAsync()
  }
}

/** A connected TLS client that accepts any certificate. */
export async function handshake(server: TestServer, options: ConnectionOptions): Promise<TLSSocket> {
  const port = server.bound.https?.port ?? 0
  const socket = connect({ host: HOST, port, rejectUnauthorized: false, ...options })
  await once(socket, 'secureConnect')
  return socket
}
