import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { newId } from '#base/ids.ts'
import type { Kind } from '#contract/kind.ts'
import { kinds } from '#contract/kinds/index.ts'
import { creatable, Seeds } from '../support/seeds.ts'
import { startServer, type TestServer } from '../support/server.ts'
import {
  assertRefusal,
  assertRefused,
  changesNothing,
  exchange,
  readAnswer,
  send,
} from './rejection-support.ts'

/** What does not name a resource, as it stands in a path. */
const noIds: Readonly<Record<string, (id: string) => string>> = {
  'that nothing has': id => newId(id.slice(0, id.indexOf('_'))),
  'with the prefix of another kind': id => `zz${id.slice(id.indexOf('_'))}`,
  'without its prefix': id => id.slice(id.indexOf('_') + 1),
  'that is too short': id => id.slice(0, -1),
  'that is too long': id => `${id}0`,
  'in upper case': id => id.toUpperCase(),
  'with a space after it': id => `${id}%20`,
  'with NUL after it': id => `${id}%00`,
  'with a line break after it': id => `${id}%0d%0a`,
  'with SQL after it': id => `${id}'%20OR%20'1'='1`,
  'of SQL': () => `%27%3B%20DROP%20TABLE%20resources%3B--`,
  'with a pattern in it': id => `${id.slice(0, -1)}%25`,
  'of a path': id => `..%2f..%2f${id}`,
  'with an encoded slash': id => `${id}%2f`,
  'with a backslash': id => `${id}%5c`,
  'of two dots, encoded': () => '%2e%2e',
  'of other letters': () => '%E6%BC%A2',
  'of 600 letters': () => 'a'.repeat(600),
}

const badTargets: Readonly<Record<string, string>> = {
  'a % without digits': '/ip_policies/%',
  'a % with one digit': '/ip_policies/%4',
  'a % before other letters': '/ip_policies/%zz',
  'bytes that are not UTF-8': '/ip_policies/%ff%fe',
  'an overlong encoding': '/ip_policies/%c0%af',
}

const nowhere = [
  '/nothing',
  '/ip_policies/',
  '//ip_policies',
  '/IP_POLICIES',
  '/ip_policies/../api_keys',
  '/./ip_policies',
  '/ip_policies%2f',
  '/%69p_policies/x/y',
  '/api/ip_policies',
  '/edges',
  '/.env',
  '/ip_policies;x=1',
  '/edges/https/x',
]

suite('a path', () => {
  let server: TestServer
  let seeds: Seeds
  before(async () => {
    server = await startServer()
    seeds = await Seeds.all(server.api)
  })
  after(() => server[Symbol.asyncDispose]())

  for (const [what, change] of Object.entries(noIds)) {
    test(`with an id ${what} names nothing, in any collection`, () =>
      changesNothing(server, async () => {
        for (const collection of creatable) {
          const { key, verbs }: Kind = kinds[collection]
          if (key !== 'id') continue
          const path = `${await seeds.path(collection)}/${change(await seeds.id(collection))}`
          assertRefusal(await send(server.api, { line: `GET ${path} HTTP/1.1` }), 'not_found')
          if (verbs.includes('delete'))
            assertRefusal(await send(server.api, { line: `DELETE ${path} HTTP/1.1` }), 'not_found')
          if (verbs.includes('update'))
            assertRefusal(await server.api.patch(encodeURI(decodeURI(path))), 'not_found')
        }
      }))
  }

  test('with the id of another kind names nothing', () =>
    changesNothing(server, async () => {
      const own = creatable.filter(collection => kinds[collection].key === 'id')
      for (const [index, collection] of own.entries()) {
        const other = own[(index + 1) % own.length] ?? 'ip_policies'
        const path = `${await seeds.path(collection)}/${await seeds.id(other)}`
        assertRefusal(await server.api.get(path), 'not_found')
        if (kinds[collection].verbs.includes('delete'))
          assertRefusal(await server.api.delete(path), 'not_found')
      }
    }))

  for (const [what, target] of Object.entries(badTargets)) {
    test(`with ${what} is refused`, async () =>
      assertRefusal(await send(server.api, { line: `GET ${target} HTTP/1.1` }), 'bad_request'))
  }

  for (const target of nowhere) {
    test(`${target} is not found`, async () => {
      const answer = await send(server.api, { line: `GET ${target} HTTP/1.1` })
      assert.equal(answer.status, 404)
      assertRefusal(answer, answer.body.msg === 'Not Found.' ? 'no_such_path' : 'not_found')
    })
  }

  for (const method of ['PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'LINK', 'PURGE']) {
    test(`is not there for the method ${method}`, () =>
      changesNothing(server, async () =>
        assertRefusal(await send(server.api, { line: `${method} /ip_policies HTTP/1.1` }), 'no_such_path'),
      ))
  }

  test('of a resource is not there for POST, nor any for methods that HTTP does not have', () =>
    changesNothing(server, async () => {
      assertRefusal(await server.api.post(`/ip_policies/${await seeds.id('ip_policies')}`), 'no_such_path')
      for (const method of ['FETCH', 'get', 'G\tET', 'POST\u0000'])
        assertRefused(await send(server.api, { line: `${method} /ip_policies HTTP/1.1` }), 'bad_request')
      const tunnel = await exchange(server.api, 'CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n')
      assertRefused(readAnswer(tunnel), 'bad_request')
    }))

  test('may have 8192 bytes, and not one more', async () => {
    const line = (length: number) => `GET ${'/ip_policies/'.padEnd(length, 'a')} HTTP/1.1`
    assertRefusal(await send(server.api, { line: line(8192) }), 'not_found')
    assertRefusal(await send(server.api, { line: line(8193) }), 'path_too_long', /at most 8192 bytes/)
    assertRefusal(
      await send(server.api, { line: `GET ${'/ip_policies?limit='.padEnd(8193, '1')} HTTP/1.1` }),
      'path_too_long',
    )
    assertRefused(await send(server.api, { line: line(20_000) }), 'headers_too_large')
  })

  test('without a key answers 401, whether or not it exists', async () => {
    for (const path of ['/ip_policies', `/ip_policies/${await seeds.id('ip_policies')}`, '/ip_policies/%00'])
      assertRefusal(await server.api.get(path, { token: null }), 'no_authorization')
    const received = await exchange(
      server.api,
      'GET /ip_policies HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    )
    assertRefusal(readAnswer(received), 'no_authorization')
  })
})
