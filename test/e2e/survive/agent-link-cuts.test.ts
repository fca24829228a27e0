import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { Agent as HttpAgent, request } from 'node:http'
import type { Readable } from 'node:stream'
import { suite, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { relayTo } from '../../agent/relay.ts'
import { signIn, StatusLog, web, web2 } from '../../agent/support.ts'
import { startServer } from '../../support/server.ts'
import { until } from '../../support/until.ts'

const CUTS = process.env['TEST_LONG'] ? 100 : 20
const CLIENTS = 8

type Incoming = Readable & { readonly method?: string | undefined; readonly url?: string | undefined }

interface Result {
  readonly status: number
  readonly code: string | undefined
  /** The connection ended after the head of the response, which cannot be repeated then. */
  readonly isCut?: boolean
}

/** Status 0: the connection ended without a response. */
async function send(url: URL, method: string, agent: HttpAgent): Promise<Result> {
  const sent = request({
    agent,
    method,
    host: '127.0.0.1',
    port: url.port,
    path: url.pathname,
    headers: { host: url.host, 'content-length': method === 'POST' ? 4 : 0 },
  })
  sent.end(method === 'POST' ? 'body' : undefined)
  let result: Result = { status: 0, code: undefined }
  try {
    const [response] = await once(sent, 'response')
    result = { status: response.statusCode, code: response.headers['adit-error-code'] }
    response.resume()
    await once(response, 'end')
    return result
  } catch {
    return { ...result, isCut: true }
  }
}

suite('a link that is cut repeatedly under load', () => {
  for (const upstreamProtocol of ['http1', 'http2'] as const)
    test(`loses no idempotent request and repeats no other one in ${CUTS} cuts, to ${upstreamProtocol}`, async () => {
      await using server = await startServer()
      const seen = new Map<string, number>()
      const serve = (incoming: Incoming, response: { end(text: string): void }): void => {
        const key = `${incoming.method} ${incoming.url}`
        seen.set(key, (seen.get(key) ?? 0) + 1)
        incoming.resume().on('end', () => response.end('ok'))
      }
      await using service = await (upstreamProtocol === 'http1' ? web(serve) : web2(serve))
      await using relay = await relayTo(server.bound.agent?.port ?? 0)
      const log = new StatusLog()
      await using agent = await signIn(server, { server: relay.address, onStatus: log.onStatus })
      const { url } = await agent.listen({ proto: 'http', forwardTo: service.port, upstreamProtocol })
      const http = new HttpAgent({ keepAlive: true, maxSockets: CLIENTS })
      let isOver = false
      const results = new Map<string, Result>()
      const load = Array.from({ length: CLIENTS }, async (_, client) => {
        const method = client % 2 === 0 ? 'GET' : 'POST'
        while (!isOver) {
          const path = `/${randomUUID()}`
          results.set(`${method} ${path}`, await send(new URL(path, url), method, http))
        }
      })
      for (let cut = 0; cut < CUTS; cut++) {
        const before = results.size
        // Right after responses, so that few have begun.
        await until(() => results.size >= before + 2 * CLIENTS, { next: () => setImmediate() })
        const reported = log.seen.length
        relay.cut()
        await log.next(({ state }) => state === 'online', reported)
      }
      isOver = true
      await Promise.all(load)
      http.destroy()

      const all = [...results]
      const gets = all.filter(([key]) => key.startsWith('GET'))
      assert.deepEqual(
        gets.filter(([, { status }]) => status !== 200),
        [],
      )
      const posts = all.filter(([key]) => key.startsWith('POST'))
      assert.deepEqual(
        posts.filter(([key]) => (seen.get(key) ?? 0) > 1),
        [],
      )
      // The error of a failed request states that it may have been processed.
      const failed = posts.filter(([, { status }]) => status !== 200)
      assert.deepEqual(
        failed.filter(([, { status, code }]) => status !== 502 || code !== 'ERR_ADIT_90306'),
        [],
      )
      assert.ok(failed.length < posts.length / 2, `${failed.length} of ${posts.length}`)
      assert.ok(gets.length >= CUTS)
      // A cut between the head and the content of a response is rare.
      const cut = all.filter(([, { isCut }]) => isCut)
      assert.ok(cut.length <= CUTS / 10, `${cut.length} responses were cut`)
    })
})
