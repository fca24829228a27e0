import assert from 'node:assert/strict'
import { buffer } from 'node:stream/consumers'
import { after, before, suite, test } from 'node:test'
import fc from 'fast-check'
import { BAD_AGENT, GuardedEdge, HOST, OTHER, routes } from './guarded-edge.ts'
import { decide } from './reference.ts'
import { readAnswer, secured } from './support.ts'

const RUNS = 200

/** Pieces of which confusing targets are made; any bytes may stand between them. */
const piece = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      ...'/ // /. /.. /../ %2e %2E . .. ; ;x=1 %2f %2F %5c %252f %252e %c0%ae %00 %3f %23 ? # & %'.split(' '),
      ...'admin open api api/public exact only x %61dmin'.split(' '),
    ),
  },
  {
    weight: 1,
    arbitrary: fc
      .uint8Array({ minLength: 1, maxLength: 3 })
      .map(bytes => Buffer.from(bytes).toString('latin1')),
  },
)
const target = fc
  .tuple(
    fc.constantFrom('/', '/', '/', '/admin', '/open/', '', `https://${HOST}/`, `http://${HOST}`),
    fc.array(piece, { maxLength: 8 }),
  )
  .map(([start, pieces]) => start + pieces.join(''))

const bytes = (maxLength: number): fc.Arbitrary<string> =>
  fc.uint8Array({ maxLength }).map(each => Buffer.from(each).toString('latin1'))

const host = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(HOST, HOST, OTHER, HOST.toUpperCase(), `${HOST}.`, `${HOST}:443`) },
  { weight: 1, arbitrary: bytes(12) },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom(HOST, OTHER), bytes(3)).map(parts => parts.join('')) },
)
const agent = fc.constantFrom(BAD_AGENT, 'good/1.0')

interface Outcome {
  readonly status: number
  readonly code: string | undefined
  readonly route: string | undefined
  readonly modules: readonly string[]
  /** As the service behind got them. */
  readonly open: readonly string[]
  readonly secret: readonly string[]
}

suite('the decision on a request', () => {
  let edge: GuardedEdge

  before(async () => {
    edge = await GuardedEdge.start()
  })
  after(() => edge[Symbol.asyncDispose]())

  /** Sends any bytes, by a connection that names no host, so that all depends on what is in them. */
  async function outcome(request: string): Promise<Outcome> {
    const socket = await secured(edge.world)
    // They may be the start of something longer, for which the test does not wait.
    socket.end(Buffer.from(request, 'latin1'))
    const answer = readAnswer(await buffer(socket).catch(() => Buffer.alloc(0)))
    const id = answer.headers.get('adit-request-id')
    const isKnown = id !== undefined && answer.status !== 400
    const { route, modules } = isKnown ? await edge.reason(id) : { route: undefined, modules: [] }
    const code = answer.headers.get('adit-error-code')
    return {
      status: answer.status,
      code,
      route,
      modules,
      open: edge.open.taken(),
      secret: edge.secret.taken(),
    }
  }

  /** What was forwarded, as a client would send it: without the fields that detect loops. */
  const again = (request: string): string => request.replace(/^(?:via|adit-request-id): .*\r\n/gim, '')

  test('SEC-01 SEC-02 SEC-03 SEC-04 SEC-05 SEC-06, SEC-11 is the decision on what is forwarded, for any bytes', async () => {
    let forwarded = 0
    await fc.assert(
      fc.asyncProperty(target, host, agent, async (path, name, program) => {
        const lines = `Host: ${name}\r\nUser-Agent: ${program}\r\nConnection: close\r\n\r\n`
        const first = await outcome(`GET ${path} HTTP/1.1\r\n${lines}`)
        if (first.secret.length > 0)
          assert.deepEqual(first.modules, ['user_agent_filter passed'], 'a guard did not see the request')
        for (const request of [...first.open, ...first.secret]) {
          forwarded++
          const second = await outcome(again(request))
          assert.deepEqual(
            { ...second, open: second.open.map(again), secret: second.secret.map(again) },
            { ...first, open: first.open.map(again), secret: first.secret.map(again) },
          )
          const [, sent = ''] = request.split(' ')
          const asked =
            /\r\nhost: (.*)\r\n/i
              .exec(request)?.[1]
              ?.toLowerCase()
              .replace(/\.?(?::443)?$/, '') ?? ''
          const wanted = decide(sent, asked, routes)
          assert.ok(wanted.kind === 'routed' && wanted.route.name === first.route, `${sent} at ${asked}`)
          assert.ok(path.endsWith(sent.slice(1)), 'a byte of the target was changed')
        }
      }),
      { numRuns: RUNS },
    )
    assert.ok(forwarded > RUNS / 20, `only ${forwarded} of ${RUNS} went on`)
  })
})
