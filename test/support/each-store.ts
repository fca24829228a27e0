import assert from 'node:assert/strict'
import { after, before, suite } from 'node:test'
import { startPostgres, type TestPostgres } from './postgres.ts'
import { startServer, type Answer, type Caller, type TestServer } from './server.ts'

type Declare = (api: () => Caller) => void

/**
 * Declares the same tests against a server on SQLite and, with TEST_LONG, one on PostgreSQL: what they test is above
 * the store, whose drivers have tests of their own.
 */
export const onEachStore = (subject: string, declare: Declare, settings?: Record<string, string>): void =>
  onStores(process.env['TEST_LONG'] === '1' ? ['sqlite', 'postgres'] : ['sqlite'], subject, declare, settings)

/** The same for what depends on the store, always on both. */
export const onBothStores = (subject: string, declare: Declare, settings?: Record<string, string>): void =>
  onStores(['sqlite', 'postgres'], subject, declare, settings)

function onStores(
  names: readonly ('sqlite' | 'postgres')[],
  subject: string,
  declare: Declare,
  settings: Record<string, string> = {},
): void {
  for (const name of names) {
    suite(`${subject} (${name})`, () => {
      let server: TestServer
      let database: TestPostgres | undefined
      before(async () => {
        database = name === 'postgres' ? await startPostgres() : undefined
        const url = await database?.newDatabase()
        server = await startServer({ ...(url !== undefined && { database_url: url }), ...settings })
      })
      after(async () => {
        try {
          await server[Symbol.asyncDispose]()
        } finally {
          await database?.stop()
        }
      })
      declare(() => server.api)
    })
  }
}

/** Makes a resource and returns it; anything but 201 fails the test. */
export async function createResource(api: Caller, path: string, body: unknown = {}): Promise<Answer['body']> {
  const answer = await api.post(path, body)
  assert.equal(answer.status, 201, `POST ${path}: ${JSON.stringify(answer.body)}`)
  return answer.body
}

/** One call that must be rejected, and its error. */
export interface RejectedCall {
  readonly method?: 'POST' | 'PATCH' | 'PUT' | 'DELETE' | 'GET'
  readonly path: string
  readonly body?: unknown
  readonly status?: number
  readonly code: number | undefined
  /** Words that the message must have, so that a person knows what to change. */
  readonly says?: RegExp
  readonly field?: string
}

/** Calls, expects the refusal in its exact shape, and proves that nothing changed. */
export async function assertRefused(
  api: Caller,
  refused: RejectedCall,
  watched: string[] = [],
): Promise<void> {
  const { method = 'POST', path, body, status = 400, code, says, field } = refused
  const seen = () => Promise.all(watched.map(each => api.get(each)))
  const earlier = await seen()
  const answer = await api.call(method, path, body === undefined ? {} : { body })
  const shown = JSON.stringify(answer.body)
  assert.equal(answer.status, status, `${method} ${path}: ${shown}`)
  assert.equal(answer.body.error_code, code === undefined ? undefined : `ERR_ADIT_${code}`, shown)
  assert.equal(answer.body.status_code, status)
  assert.equal(typeof answer.body.msg, 'string')
  assert.match(answer.body.details.operation_id, /^op_[0-9A-Za-z]{27}$/)
  assert.equal(answer.headers.get('adit-operation-id'), answer.body.details.operation_id)
  if (says) assert.match(answer.body.msg, says)
  if (field !== undefined) assert.equal(answer.body.details.field, field)
  const afterwards = await seen()
  assert.deepEqual(
    afterwards.map(each => each.body),
    earlier.map(each => each.body),
    'nothing may have changed',
  )
}
