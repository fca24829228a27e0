import assert from 'node:assert/strict'
import { Agent } from 'node:https'
import { after, before, suite, test } from 'node:test'
import { BAD_AGENT, each, GuardedEdge, HOST, OTHER, routes } from './guarded-edge.ts'
import { hardTargets } from './hard-paths.ts'
import { decide, type Decision } from './reference.ts'
import { type Answered, fieldsIn, head, sent, session, streamed } from './support.ts'

const AMBIGUOUS = 'ERR_ADIT_90049'

/** The response to a request, and its log entry. */
interface Seen {
  readonly target: string
  readonly answer: Answered
  readonly wanted: Decision
}

suite('a path with several interpretations', () => {
  let edge: GuardedEdge

  before(async () => {
    edge = await GuardedEdge.start()
  })
  after(() => edge[Symbol.asyncDispose]())

  /** Compares all records of the requests with the reference. */
  async function judge(seen: readonly Seen[]): Promise<void> {
    assert.deepEqual(edge.secret.taken(), [], 'a service behind a guard was reached')
    const got = new Map(
      edge.open.taken().map(request => [new Map(fieldsIn(request)).get('x-row'), request.split(' ')[1]]),
    )
    const reasons = await edge.reasons()
    for (const [row, { target, answer, wanted }] of seen.entries()) {
      const shown = JSON.stringify(target)
      const code = answer.headers.get('adit-error-code')
      const forwarded = got.get(String(row))
      if (wanted.kind === 'refused') {
        // Over HTTP/2 some do not get as far as an answer.
        assert.ok(answer.status === 400 || answer.status === 0, `${shown}: ${answer.status}`)
        assert.notEqual(code, AMBIGUOUS, shown)
        assert.equal(forwarded, undefined, shown)
        continue
      }
      const reason = reasons.get(answer.headers.get('adit-request-id') ?? '')
      if (wanted.kind === 'ambiguous') {
        assert.deepEqual([answer.status, code], [400, AMBIGUOUS], shown)
        assert.deepEqual([forwarded, reason?.route, reason?.modules], [undefined, undefined, []], shown)
        continue
      }
      assert.ok(wanted.kind === 'routed', shown)
      const { guard, name } = wanted.route
      assert.deepEqual([reason?.route, reason?.status], [name, guard ? 403 : 200], shown)
      assert.deepEqual(reason?.modules, guard ? [`${guard} answered`] : [], shown)
      assert.equal(answer.status, guard ? 403 : 200, shown)
      assert.equal(forwarded, guard ? undefined : wanted.target, shown)
    }
  }

  interface Row {
    readonly host: string
    readonly target: string
    readonly row: number
    readonly agent: Agent
  }

  /** By a client that keeps its connections, as far as it sends such a target at all. */
  async function asked({ host, target, row, agent }: Row): Promise<Answered> {
    const lines = `User-Agent: ${BAD_AGENT}\r\nX-Row: ${row}\r\n`
    if (!/^\/[\x21-\x7e]*$/.test(target)) return sent(edge.world, host, head(target, host, lines))
    const headers = { 'user-agent': BAD_AGENT, 'x-row': String(row) }
    const got = await edge.world.ask(host + target, { agent, headers })
    const shown = Object.entries(got.headers).map(([name, value]) => [name, String(value)] as const)
    return { status: got.status, text: got.text, headers: new Map(shown) }
  }

  for (const host of [HOST, OTHER]) {
    test(`SEC-01 SEC-02 SEC-03 SEC-04 SEC-05 SEC-06 matches one route or is rejected, and is forwarded byte for byte (HTTP/1.1, ${host})`, async () => {
      const all = hardTargets(host)
      // What is special to the second name is in a few rows.
      const targets = all.filter((target, at) => host === HOST || target.includes('onl') || at % 4 === 0)
      assert.ok(all.length >= 400)
      const seen: Seen[] = []
      const agent = new Agent({ keepAlive: true })
      await each(targets, async (target, row) => {
        const answer = await asked({ host, target, row, agent })
        seen[row] = { target, answer, wanted: decide(target, host, routes) }
      })
      agent.destroy()
      const kinds = Map.groupBy(seen, ({ wanted }) => wanted.kind)
      for (const kind of ['refused', 'ambiguous', 'routed'] as const)
        assert.ok((kinds.get(kind)?.length ?? 0) > 20, kind)
      await judge(seen)
    })
  }

  test('SEC-01 SEC-02 SEC-03 SEC-04 SEC-05 SEC-06 matches the same route over HTTP/2', async () => {
    const targets = hardTargets(HOST)
    const seen: Seen[] = []
    for (let from = 0; from < targets.length; from += 100) {
      using made = await session(edge.world, HOST)
      await each(targets.slice(from, from + 100), async (target, at) => {
        const pairs = {
          ':path': target,
          ':authority': HOST,
          'user-agent': BAD_AGENT,
          'x-row': String(from + at),
        }
        const answer = await streamed(made, pairs)
        const isPath = target.startsWith('/')
        // HTTP/2 names the host elsewhere, and nothing but a path here.
        seen[from + at] = {
          target,
          answer,
          wanted: isPath ? decide(target, HOST, routes) : { kind: 'refused' },
        }
      })
    }
    await judge(seen)
  })
})
