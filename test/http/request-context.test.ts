import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { RequestContext } from '#http/request-context.ts'

const root = join(import.meta.dirname, '../..')

/** The component that writes each section: files whose path begins so. */
const writers: Readonly<Record<string, readonly string[]>> = {
  // A replay is a request without a client connection.
  connection: [
    'src/http/http1-server-connection.ts',
    'src/http/http2/stream-request.ts',
    'src/gateway/request-replays.ts',
  ],
  routing: ['src/gateway/routing/'],
  signIn: ['src/auth/sign-in/'],
  modules: ['src/gateway/modules/'],
  // The converter is a module in place of a backend: it connects to the service itself.
  upstream: ['src/gateway/backends/', 'src/gateway/modules/websocket-tcp-converter.ts'],
  telemetry: ['src/telemetry/'],
}

const files = globSync('src/**/*.ts', { cwd: root, exclude: ['src/http/request-context.ts'] }).map(
  file => [file, readFileSync(join(root, file), 'utf8')] as const,
)

suite('the record of a request', () => {
  for (const [section, allowed] of Object.entries(writers))
    test(`has one writer of its section ${section}`, () => {
      const using = new RegExp(
        `\\bcontext\\??\\.${section}\\b|\\{[^{}]*\\b${section}\\b[^{}]*\\} = \\S*\\bcontext\\b`,
      )
      const found = files.flatMap(([file, text]) => (using.test(text) ? [file] : []))
      const others = found.filter(file => !allowed.some(writer => file.startsWith(writer)))
      assert.deepEqual(others, [], 'they read it from the context, and do not write it')
      assert.notEqual(found.length, 0)
    })

  test('is one object, whose sections show what is written to them', () => {
    const context = new RequestContext()
    for (const section of Object.keys(writers))
      assert.equal(context[section as keyof RequestContext], context)
    context.upstream.backendId = 'bkd_1'
    context.routing.modulesPassed = 2
    assert.deepEqual([context.backendId, context.modulesPassed], ['bkd_1', 2])
  })

  test('has notes in order, and none at first', () => {
    const context = new RequestContext()
    assert.equal(context.notes, undefined)
    context.note('one')
    context.note('two')
    assert.deepEqual(context.notes, ['one', 'two'])
  })
})
