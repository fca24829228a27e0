import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { downloads, type Source } from './support/distance/downloads.ts'
import { addresses, Link } from './support/distance/link.ts'
import type { LinkShape } from './support/distance/relay-program.ts'
import { type Figures, interleave, seconds } from './support/interleave.ts'
import type { Row } from './support/row.ts'
import { program } from '../test/support/program.ts'

/** 100 ms there and back, 1 % lost, 20 Mbit/s, a queue of one round trip. */
const shape: LinkShape = { delayMs: 50, loss: 0.01, bytesPerSecond: 2_500_000, queueBytes: 250_000 }
const ABOUT = '100 ms, 1 % loss, 20 Mbit/s'
const CONTROLS = ['bbr', 'cubic'] as const
const COUNTS = [1, 64] as const
/** A connection needs some round trips until it is as fast as it can be. */
const MIN_SECONDS = 10

/** Of the rate without a tunnel, and as an index of fairness. */
const ENOUGH = { atLeast: 0.9 }

const HTTP_PORT = 8080
const SERVICE_PORT = 8000
const DOMAIN = 'adit.localhost'
const direct: Source = { address: `${addresses.far}:${SERVICE_PORT}`, host: 'localhost' }
const tunnelled: Source = { address: `127.0.0.1:${HTTP_PORT}`, host: `bench.${DOMAIN}` }

const megabits = (rate: number | undefined): string =>
  `${(((rate ?? Number.NaN) * 8) / 1e6).toFixed(2)} Mbit/s`

/** A gateway at the near end of the link, and an agent at the far one. */
async function openTunnel(link: Link, dataDir: string): Promise<AsyncDisposable> {
  await using parts = new AsyncDisposableStack()
  const agentAddress = `${addresses.near}:4443`
  const server = parts.use(
    link.start('near', program, ['serve'], {
      ADIT_DATA_DIR: dataDir,
      ADIT_HTTP_ADDR: `127.0.0.1:${HTTP_PORT}`,
      ADIT_HTTPS_ADDR: 'off',
      ADIT_SSH_ADDR: 'off',
      ADIT_AGENT_ADDR: agentAddress,
      ADIT_DOMAIN: DOMAIN,
      ADIT_ACME_DIRECTORY: 'off',
      ADIT_LOG_LEVEL: 'error',
    }),
  )
  const [token, ca] = [join(dataDir, 'authtoken'), join(dataDir, 'ca.pem')]
  await server.until('its credentials', () => existsSync(token) && existsSync(ca))
  const agent = parts.use(
    link.start('far', program, ['http', String(SERVICE_PORT), '--name', 'bench', '--scheme', 'http'], {
      ADIT_SERVER_ADDR: agentAddress,
      ADIT_AUTHTOKEN: readFileSync(token, 'utf8').trim(),
      ADIT_CA_FILE: ca,
    }),
  )
  await agent.until('its address', () => /https?:\/\/\S+/.test(agent.output))
  return parts.move()
}

function* rowsOf(work: string, count: number, ours: Figures, peer: Figures): Generator<Row> {
  const ratio = (ours['rate'] ?? Number.NaN) / (peer['rate'] ?? Number.NaN)
  const rates = { name: work, ours: megabits(ours['rate']), peer: megabits(peer['rate']), figure: ratio }
  if (count === 1) {
    yield { ...rates, target: ENOUGH }
    return
  }
  yield rates
  const [own = Number.NaN, other = Number.NaN] = [ours['fairness'], peer['fairness']]
  yield { name: `${work}, Jain's index`, ours: '', peer: other.toFixed(3), figure: own, target: ENOUGH }
}

/** Downloads over a long link that loses packets, through the tunnel and straight from the service. */
export async function* distance(): AsyncGenerator<Row> {
  const folder = mkdtempSync(join(tmpdir(), 'adit-bench-'))
  await using parts = new AsyncDisposableStack()
  parts.defer(() => rmSync(folder, { recursive: true, force: true }))
  const link = parts.use(await Link.open(shape))
  const script = join(import.meta.dirname, 'support/distance/service-program.ts')
  const service = parts.use(link.start('far', process.execPath, [script, String(SERVICE_PORT)]))
  await service.until('its port', () => service.output.includes('listening'))
  const limit = Math.max(MIN_SECONDS, seconds)
  for (const control of CONTROLS) {
    await link.control(control)
    for (const count of COUNTS) {
      const results = await interleave({
        // A new tunnel each time: the link still carries what aborted downloads have left.
        ours: async () => {
          await using tunnel = new AsyncDisposableStack()
          tunnel.use(await openTunnel(link, mkdtempSync(join(folder, 'data-'))))
          return await downloads(link, tunnelled, count, limit)
        },
        peer: () => downloads(link, direct, count, limit),
      })
      const work = `${ABOUT}, ${control}: ${count} ${count === 1 ? 'download' : 'downloads'}, vs curl without a tunnel`
      yield* rowsOf(work, count, results['ours'] ?? {}, results['peer'] ?? {})
    }
  }
}
