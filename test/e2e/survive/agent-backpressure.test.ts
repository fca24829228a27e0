import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { after, before, suite, test } from 'node:test'
import { AgentProcess, GatewayProcess } from './agent-support.ts'
import { writeBytes, Services, readSlowly, visitTcp, visitWeb } from './agent-support-services.ts'
import { isLongRun, PeakMemory, percentile, reportFigures } from './measurements.ts'
import { steady } from '../../support/until.ts'

const MIB = 1_048_576
const STREAMS = 8
const SIZE = (isLongRun ? 1024 : 128) * MIB
const EACH = SIZE / STREAMS
const REST_MS = 60
const WINDOW_KIB = 256
const BOUND_KIB = STREAMS * WINDOW_KIB + 64 * 1024
const OTHERS = 99
const ROUND_TRIPS = 20
const BEAT = Buffer.alloc(4096, 'z')
// Kernel buffers of four sockets, and windows; more than that would be buffered without a bound.
const BLOCKED_BYTES = 32 * MIB

interface Urls {
  readonly tcp: string
  readonly http: string
}

suite('a slow stream', () => {
  let gateway: GatewayProcess
  let services: Services
  let agent: AgentProcess
  let at: Urls
  let complaints = ''
  before(async () => {
    gateway = await GatewayProcess.start()
    gateway.process.child.stderr?.on('data', (bytes: Buffer) => (complaints += bytes.toString()))
    services = await Services.start(REST_MS)
    const tcp = { proto: 'tcp', forwardTo: services.tcp } as const
    const http = { proto: 'http', forwardTo: services.web } as const
    agent = new AgentProcess({ agent: gateway.options, endpoints: [[tcp, http]] })
    const { urls } = await agent.next('ready')
    at = { tcp: urls[0] ?? '', http: urls[1] ?? '' }
  })
  after(async () => {
    await agent[Symbol.asyncDispose]()
    await gateway[Symbol.asyncDispose]()
    await services[Symbol.asyncDispose]()
  })

  /** Those who are not slow, all at once; resolves to how long each exchange took. */
  async function others(): Promise<number[]> {
    const times: number[] = []
    const timed = async (work: () => Promise<void>): Promise<void> => {
      const begun = performance.now()
      await work()
      times.push(performance.now() - begun)
    }
    const overTcp = async (): Promise<void> => {
      const socket = await visitTcp(at.tcp, 'echo')
      for (let count = 0; count < ROUND_TRIPS; count++) await timed(() => echo(socket))
      socket.destroy()
    }
    const overHttp = async (): Promise<void> => {
      for (let count = 0; count < ROUND_TRIPS; count++)
        await timed(async () => {
          const { asked, response } = visitWeb(at.http, '/echo')
          asked.end()
          assert.equal(await text(await response), 'echo')
        })
    }
    await Promise.all(
      Array.from({ length: OTHERS }, (_, number) => (number % 2 === 0 ? overTcp() : overHttp())),
    )
    return times
  }

  const blockers: Readonly<Record<string, () => Promise<{ destroy(): unknown }>>> = {
    'a TCP client that does not read': async () => (await visitTcp(at.tcp, `pour ${1024 * MIB}`)).pause(),
    'a TCP service that does not read': async () => {
      const socket = await visitTcp(at.tcp, 'stuck')
      void writeBytes(socket, 1024 * MIB, more => (services.poured += more))
      return socket
    },
    'an HTTP client that does not read': async () => {
      const { asked, response } = visitWeb(at.http, `/pour-${1024 * MIB}`)
      asked.end()
      return (await response).pause()
    },
    'an HTTP service that does not read': async () => {
      const { asked } = visitWeb(at.http, '/stuck', 'POST')
      void writeBytes(asked, 1024 * MIB, more => (services.poured += more))
      return asked
    },
  }

  let alone: readonly number[] | undefined
  for (const [name, block] of Object.entries(blockers)) {
    test(`does not block the ${OTHERS} others: ${name}`, async context => {
      alone ??= await others()
      services.poured = 0
      const blocked = await block()
      await steady(() => services.poured, 250)
      const beside = await others()
      const { poured } = services
      const figures = {
        'p99 ms alone': percentile(alone, 0.99),
        'p99 ms beside it': percentile(beside, 0.99),
      }
      reportFigures(context, { ...figures, 'MiB before it blocked': poured / MIB })
      assert.ok(poured > 0)
      assert.ok(poured < BLOCKED_BYTES, `${poured} bytes were accepted for a peer that reads none`)
      assert.equal(beside.length, alone.length)
      // How quick they are depends on what else the machine does; it is judged in long runs.
      if (isLongRun) assert.ok(percentile(beside, 0.99) < Math.max(500, 5 * percentile(alone, 0.99)))
      blocked.destroy()
    })
  }

  const sizeOf = async (source: Readable): Promise<number> => {
    const [bytes] = (await once(source, 'data')) as [Buffer]
    source.destroy()
    return Number(bytes.toString())
  }
  const directions: Readonly<Record<string, (bytes: number) => Promise<number>>> = {
    'client to service, TCP': async bytes => {
      const socket = await visitTcp(at.tcp, 'sip')
      const [size] = await Promise.all([sizeOf(socket), writeBytes(socket, bytes)])
      return size
    },
    'service to client, TCP': async bytes => {
      const socket = await visitTcp(at.tcp, `pour ${bytes}`)
      socket.end()
      return readSlowly(socket, REST_MS)
    },
    'client to service, HTTP': async bytes => {
      const { asked, response } = visitWeb(at.http, '/sip', 'POST')
      await writeBytes(asked, bytes)
      return sizeOf(await response)
    },
    'service to client, HTTP': async bytes => {
      const { asked, response } = visitWeb(at.http, `/pour-${bytes}`)
      asked.end()
      return readSlowly(await response, REST_MS)
    },
  }

  for (const [name, transfer] of Object.entries(directions)) {
    test(`is not buffered in memory: ${SIZE / MIB} MiB, ${name}`, async context => {
      const all = (bytes: number) => Promise.all(Array.from({ length: STREAMS }, () => transfer(bytes)))
      await all(MIB)
      using ofGateway = new PeakMemory(gateway.pid)
      using ofAgent = new PeakMemory(agent.pid)
      const begun = performance.now()
      assert.deepEqual(
        await all(EACH),
        Array.from({ length: STREAMS }, () => EACH),
      )
      reportFigures(context, {
        seconds: (performance.now() - begun) / 1000,
        'MiB more in the gateway': ofGateway.growth / 1024,
        'MiB more in the agent': ofAgent.growth / 1024,
        'allowed MiB': BOUND_KIB / 1024,
      })
      assert.ok(ofGateway.growth <= BOUND_KIB, `the gateway grew by ${ofGateway.growth} KiB`)
      assert.ok(ofAgent.growth <= BOUND_KIB, `the agent grew by ${ofAgent.growth} KiB`)
    })
  }

  test('adds no listener for each wait', () => {
    assert.doesNotMatch(complaints + agent.stderr, /MaxListeners/)
  })
})

async function echo(socket: Awaited<ReturnType<typeof visitTcp>>): Promise<void> {
  socket.write(BEAT)
  for (let left = BEAT.length; left > 0;) {
    const [bytes] = (await once(socket, 'data')) as [Buffer]
    left -= bytes.length
  }
}
