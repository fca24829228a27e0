import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import {
  afterRequest,
  afterResponse,
  connectionPolicy,
  type ConnectionPhase,
  type ConnectionState,
  isBodyUnsure,
  keepsAlive,
  waitOf,
  waits,
} from '#http/http1-connection-policy.ts'
import { defaultClientLimits } from '#http/http1-limits.ts'
import { type Policy, testPolicy } from '../../support/policy-table.ts'

const at = (phase: ConnectionPhase, more: Partial<ConnectionState> = {}): ConnectionState => ({
  phase,
  requests: 1,
  keepAlive: true,
  isDraining: false,
  hasClientEnded: false,
  ...more,
})

/** The action for each event (rows) in each phase (columns). */
const table = `
event          head     serving  responding  discarding  upgraded  closing
reply          drop     send     drop        drop        drop      drop
error          respond  respond  abort       abort       abort     ignore
unsendable     ignore   ignore   respond     ignore      ignore    ignore
invalidBody    close    reject   reject      close       close     close
bodyComplete   wait     wait     wait        next        wait      wait
bodyExcess     hold     hold     hold        close       hold      hold
end            close    wait     wait        close       forward   close
endWithinBody  close    abort    abort       close       forward   close
endWithinOwnBody  close  reject   abort       close       forward   close
cut            wait     abort    abort       abort       abort     abort
`
const policy: Policy = connectionPolicy

suite('what a client connection does', () => {
  const phases = testPolicy(policy, table)

  test('is to write a response only when none has begun, or none of its bytes was sent', () => {
    const writing = Object.entries(policy).flatMap(([event, row]) =>
      phases.filter(phase => /send|respond/.test(row[phase] ?? '')).map(phase => `${event} ${phase}`),
    )
    assert.deepEqual(writing, ['reply serving', 'error head', 'error serving', 'unsendable responding'])
  })
})

suite('another request on the connection', () => {
  const limits = { ...defaultClientLimits, maxRequests: 3 }
  const kept: readonly (readonly [boolean, boolean, number, boolean])[] = [
    // The head asks for it, draining, requests with this one, expected.
    [true, false, 1, true],
    [true, false, 2, true],
    [true, false, 3, false],
    [true, true, 1, false],
    [false, false, 1, false],
  ]
  for (const [keepAlive, isDraining, requests, expected] of kept)
    test(`is ${expected ? '' : 'not '}allowed: keep-alive ${keepAlive}, draining ${isDraining}, request ${requests}`, () =>
      assert.equal(keepsAlive({ keepAlive }, at('serving', { isDraining, requests }), limits), expected))

  test('cannot be distinguished from a body while the client waits for 100 (Continue)', () => {
    assert.equal(isBodyUnsure({ expectsContinue: true }, false, true), true)
    assert.equal(isBodyUnsure({ expectsContinue: true }, true, true), false)
    assert.equal(isBodyUnsure({ expectsContinue: true }, false, false), false)
    assert.equal(isBodyUnsure({ expectsContinue: false }, false, true), false)
  })

  const followed: readonly (readonly [boolean, boolean, boolean, string])[] = [
    // keepAlive, the client has half-closed, bytes of the next request have arrived.
    [true, false, false, 'next'],
    [true, false, true, 'next'],
    [true, true, true, 'next'],
    [true, true, false, 'close'],
    [false, false, false, 'close'],
    [false, false, true, 'close'],
  ]
  for (const [keepAlive, hasClientEnded, isPipelined, expected] of followed)
    test(`${expected}: keep-alive ${keepAlive}, half-closed ${hasClientEnded}, pipelined ${isPipelined}`, () =>
      assert.equal(afterRequest(at('responding', { keepAlive, hasClientEnded }), isPipelined), expected))
})

suite('after a response', () => {
  const limits = { ...defaultClientLimits, unwantedBytes: 10 }
  const body = { framing: { kind: 'chunked' } as const, finished: false, left: 0, unwanted: false }
  const sized = (left: number) => ({ ...body, framing: { kind: 'length', length: 20 } as const, left })
  const open = at('responding')
  const last = at('responding', { keepAlive: false })
  const cases: readonly (readonly [string, Parameters<typeof afterResponse>, string])[] = [
    ['no body', [undefined, false, open, limits], 'next'],
    ['no body, last request', [undefined, false, last, limits], 'next'],
    ['a complete body', [{ ...body, finished: true }, false, open, limits], 'next'],
    ['a body without length', [body, false, open, limits], 'discard'],
    ['a body without length, last request', [body, false, last, limits], 'close'],
    ['a short rest', [sized(10), false, open, limits], 'discard'],
    ['a long rest', [sized(11), false, open, limits], 'close'],
    ['an unread body', [body, true, open, limits], 'discard'],
    ['too much of an unwanted body', [{ ...body, unwanted: true }, true, open, limits], 'close'],
    ['an unwanted body', [{ ...body, unwanted: true }, false, open, limits], 'discard'],
  ]
  for (const [name, given, expected] of cases)
    test(`with ${name}: ${expected}`, () => assert.equal(afterResponse(...given), expected))
})

suite('a connection waits', () => {
  const quiet = { isWithinHead: false, isReceiving: false }
  const within = { isWithinHead: true, isReceiving: false }
  const receiving = { isWithinHead: false, isReceiving: true }
  const half = { hasClientEnded: true }
  const cases: readonly (readonly [...Parameters<typeof waitOf>, keyof typeof waits | undefined])[] = [
    [at('head', { requests: 0 }), quiet, false, 'firstRequest'],
    [at('head'), quiet, false, 'nextRequest'],
    [at('head', { requests: 0, isDraining: true }), quiet, false, 'onlyRequest'],
    [at('head', { isDraining: true }), quiet, false, 'lastRequest'],
    [at('head', { isDraining: true }), within, false, 'restOfHead'],
    [at('head'), within, false, 'restOfHead'],
    [at('serving'), quiet, false, undefined],
    [at('serving'), receiving, false, 'body'],
    [at('serving', half), quiet, false, 'response'],
    [at('responding'), quiet, false, undefined],
    [at('responding'), receiving, false, 'body'],
    [at('responding', half), quiet, false, 'response'],
    [at('discarding'), quiet, false, 'close'],
    [at('discarding'), receiving, false, 'close'],
    [at('upgraded'), quiet, false, undefined],
    [at('upgraded', half), quiet, false, undefined],
    [at('upgraded'), quiet, true, 'endOfUpgraded'],
    [at('closing'), quiet, true, 'close'],
  ]
  for (const [state, progress, hasServiceEnded, expected] of cases)
    test(`for ${expected ?? 'something without a limit'}: ${JSON.stringify({ ...state, ...progress })}`, () =>
      assert.equal(waitOf(state, progress, hasServiceEnded), expected))

  test('and responds after that only where a request has begun', () => {
    const rejected = Object.entries(waits).flatMap(([wait, { action }]) =>
      action === 'reject' ? [wait] : [],
    )
    assert.deepEqual(rejected, ['restOfHead', 'body'])
  })
})
