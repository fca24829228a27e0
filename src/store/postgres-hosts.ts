import { callbackify } from 'node:util'
import pg from 'pg'
import { StoreError } from '#store/store-error.ts'

const INT8_OID = 20

/** The session parameters that PostgreSQL applies to a connection, such as `statement_timeout`. */
export type SessionParameters = Readonly<Record<string, string | number>>

const connection = {
  application_name: 'adit',
  connectionTimeoutMillis: 5_000,
  keepAlive: true,
  // Counters stay far below 2^53, so they need not be strings.
  types: {
    getTypeParser: (oid: number, format?: 'text' | 'binary') =>
      oid === INT8_OID ? Number : pg.types.getTypeParser(oid, format),
  },
} satisfies pg.PoolConfig

const PARTS = /^(?<scheme>[^:]+):\/\/(?<user>[^/?]*@)?(?<hosts>[^@/?]*)(?<path>\/[^?]*)?(?:\?(?<query>.*))?$/s

/**
 * The servers that a database URL names. As in libpq, it may list several (`a:5432,b:5432`, or the parameters `host` and
 * `port`): one of them accepts writes, and which one it is changes with a failover. node-postgres knows only one.
 */
export class PostgresHosts {
  readonly #urls: readonly string[]
  readonly #needsWrites: boolean
  #current = 0

  constructor(url: string) {
    try {
      const { urls, needsWrites } = parse(url)
      this.#urls = urls
      this.#needsWrites = needsWrites
      for (const each of urls) readAllOf(each)
    } catch (error) {
      if (error instanceof StoreError) throw error
      throw new StoreError('unusable', 'The database URL cannot be read.', { cause: error })
    }
  }

  get count(): number {
    return this.#urls.length
  }

  /** Where new connections go. */
  get url(): string {
    return this.#urls[this.#current] ?? ''
  }

  pool(config: pg.PoolConfig, session: SessionParameters): pg.Pool {
    return new pg.Pool({ ...connection, ...config, Client: this.#clientWith(session) })
  }

  client(): pg.Client {
    const Client = this.#clientWith({})
    return new Client({ ...connection, query_timeout: 15_000 })
  }

  /** The next connection goes to another server. */
  #failed(url: string): void {
    if (url === this.url) this.#current = (this.#current + 1) % this.#urls.length
  }

  #clientWith(session: SessionParameters): typeof pg.Client {
    const failed = (url: string): void => this.#failed(url)
    const chosen = (): string => this.url
    // As statements: PgBouncer rejects most parameters in the startup message.
    const settings = Object.entries(session).map(([name, value]) => `SET ${name} = ${value}`)
    const prepare = async (client: pg.Client): Promise<void> => {
      if (settings.length > 0) await client.query(settings.join('; '))
      if (this.#needsWrites) await refuseReadOnly(client)
    }
    return class extends pg.Client {
      readonly #url: string

      constructor(config?: string | pg.ClientConfig) {
        const url = chosen()
        super({ ...(typeof config === 'object' && config), connectionString: url })
        // A lost connection is replaced on demand; its current user gets the error of the query. Without a listener
        // the event would crash the process, and the pool has none yet while the session is prepared.
        this.on('error', () => undefined)
        this.#url = url
      }

      override connect(): Promise<pg.Client>
      override connect(callback: (error: Error | null) => void): void
      override connect(callback?: (error: Error | null) => void): Promise<pg.Client> | void {
        if (callback === undefined) return this.#open()
        callbackify(() => this.#open())(callback)
      }

      async #open(): Promise<pg.Client> {
        try {
          await super.connect()
          await prepare(this)
          return this
        } catch (error) {
          failed(this.#url)
          // The pool forgets a client that does not connect.
          await super.end().catch(() => undefined)
          throw error
        }
      }
    }
  }
}

/** Throws if a part of the URL, or a file that it names, cannot be read. */
const readAllOf = (url: string): pg.Client => new pg.Client({ connectionString: url })

/** A standby accepts connections, but no writes; so does a server that an administrator made read-only. */
async function refuseReadOnly(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ transaction_read_only: string }>('SHOW transaction_read_only')
  if (rows[0]?.transaction_read_only === 'on')
    throw new StoreError('read_only', 'No database server of the URL accepts writes.')
}

interface Parsed {
  readonly urls: readonly string[]
  readonly needsWrites: boolean
}

function parse(url: string): Parsed {
  const { scheme, user = '', hosts: named = '', path = '/', query = '' } = PARTS.exec(url)?.groups ?? {}
  if (scheme === undefined) throw new Error('It has no scheme.')
  const parameters = new URLSearchParams(query)
  const wanted = parameters.get('target_session_attrs')
  if (wanted !== null && !['any', 'primary', 'read-write'].includes(wanted))
    throw new StoreError(
      'unusable',
      'target_session_attrs of the database URL must be read-write: Adit writes to its database.',
    )
  const addresses = addressesOf(named, parameters)
  // Without several servers, `any` means that reads continue while the only one is read-only.
  const needsWrites = addresses.length > 1 || (wanted !== null && wanted !== 'any')
  if (addresses.length === 1) return { urls: [url], needsWrites }
  for (const name of ['target_session_attrs', 'host', 'port']) parameters.delete(name)
  const urls = addresses.map(({ host, port }) => {
    const own = new URLSearchParams(parameters)
    own.set('host', host)
    if (port !== '') own.set('port', port)
    return `${scheme}://${user}localhost${path}?${own.toString()}`
  })
  return { urls, needsWrites }
}

interface Address {
  readonly host: string
  readonly port: string
}

function addressesOf(named: string, parameters: URLSearchParams): Address[] {
  const hosts = parameters.get('host')
  if (hosts === null) return named.split(',').map(addressOf)
  const ports = (parameters.get('port') ?? '').split(',')
  const list = hosts.split(',')
  // One port is for all hosts.
  if (ports.length !== 1 && ports.length !== list.length)
    throw new StoreError('unusable', 'The database URL must have one port, or one for each host.')
  return list.map((host, index) => ({ host, port: ports[ports.length === 1 ? 0 : index] ?? '' }))
}

function addressOf(text: string): Address {
  const [, bracketed, plain = '', port = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d*))?$/.exec(text) ?? []
  if (bracketed === undefined && plain === '' && text !== '') throw new Error('It has an invalid address.')
  return { host: bracketed ?? decodeURIComponent(plain), port }
}
