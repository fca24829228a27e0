import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { catalog } from '#base/catalog.ts'
import type { ErrorName } from '#base/errors.ts'
import type { Answer, Caller, TestServer } from '../support/server.ts'
import { assertNoSecret } from '../support/secrets.ts'

/** Everything that is stored, and how often it was changed, but where deliveries stand, which they do by themselves. */
function everything({ dataDir }: TestServer): Record<string, unknown>[] {
  using database = new DatabaseSync(join(dataDir, 'adit.db'), { readOnly: true })
  return [
    `SELECT * FROM resource WHERE kind NOT IN ('event_cursor', 'event_reader') ORDER BY id`,
    'SELECT * FROM reference ORDER BY source, target',
    'SELECT * FROM claim ORDER BY namespace, value',
    'SELECT sequence, id, type FROM event ORDER BY sequence',
  ].flatMap(query => database.prepare(query).all())
}

/** Runs calls that must leave everything as it was. */
export async function changesNothing(server: TestServer, run: () => Promise<void>): Promise<void> {
  const before = everything(server)
  await run()
  assert.deepEqual(everything(server), before)
}

/** Refuses an answer that is not this refusal in the one shape that refusals have. */
export function assertRefused(answer: Pick<Answer, 'status' | 'body'>, name: ErrorName, said?: RegExp): void {
  const entry: { status: number; number?: number } = catalog[name]
  const { error_code: code, status_code: status, msg, details, ...rest } = answer.body ?? {}
  assert.equal(code, entry.number === undefined ? undefined : `ERR_ADIT_${entry.number}`, String(msg))
  assert.deepEqual([answer.status, status], [entry.status, entry.status])
  assert.ok(typeof msg === 'string' && msg !== '' && !msg.includes('{'), msg)
  if (said) assert.match(msg, said)
  assert.match(details.operation_id, /^op_[0-9A-Za-z]{27}$/)
  assert.deepEqual(Object.keys(rest), [])
}

/** The same for an answer that came over HTTP: it names its operation in a header too. */
export function assertRefusal(answer: Answer, name: ErrorName, said?: RegExp): void {
  assertRefused(answer, name, said)
  assert.equal(answer.headers.get('adit-operation-id'), answer.body.details.operation_id)
  assert.equal(answer.headers.get('cache-control'), 'no-store')
}

/** Sends bytes as they are, ends if requested, and reads until the other side ends. */
export function exchange(api: Caller, bytes: string | Buffer, then?: 'then end'): Promise<string> {
  const { hostname, port } = new URL(api.url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    let received = ''
    socket.setTimeout(60_000, () => socket.destroy(new Error(`no end after: ${received}`)))
    socket.setEncoding('utf8').on('data', text => (received += String(text)))
    socket.once('close', () => resolve(received)).once('error', reject)
    if (then) socket.end(bytes)
    else socket.write(bytes)
  })
}

/** Reads the only response in the received bytes; a second one would belong to another request. */
export function readAnswer(received: string): Answer {
  assert.equal(received.match(/^HTTP\/1\.1 \d/gm)?.length, 1, received)
  const [head = '', ...rest] = received.split('\r\n\r\n')
  const [status = '', ...lines] = head.split('\r\n')
  const headers = new Headers(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon), line.slice(colon + 1).trim()]
    }),
  )
  const text = rest.join('\r\n\r\n')
  assertNoSecret('an answer', received)
  const body: unknown =
    headers.get('content-type')?.startsWith('application/json') && text ? JSON.parse(text) : undefined
  return { status: Number(status.split(' ')[1]), headers, body }
}

export interface RawRequest {
  readonly line: string
  readonly host?: string
  readonly headers?: readonly string[]
  readonly body?: string | Buffer
}

/** A request of the first admin, written by hand: one that fetch would mend or refuse to send. */
export async function send(
  api: Caller,
  { line, host = 'Host: adit.test', headers = [], body = '' }: RawRequest,
): Promise<Answer> {
  const head = [line, host, `Authorization: Bearer ${api.token}`, 'Connection: close', ...headers]
  const lines = head.filter(each => each !== '').map(each => `${each}\r\n`)
  return readAnswer(
    await exchange(api, Buffer.concat([Buffer.from(`${lines.join('')}\r\n`, 'latin1'), Buffer.from(body)])),
  )
}
