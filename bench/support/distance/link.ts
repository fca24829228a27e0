import { existsSync } from 'node:fs'
import { freePort } from '../../../test/support/free-ports.ts'
import { outputOf, RunningProgram, splitArguments } from '../processes.ts'
import { ask, program } from '../programs.ts'
import { needTool } from '../tools.ts'
import type { LinkShape, RelayJob, RelayPorts } from './relay-program.ts'

type End = 'near' | 'far'
const ends: readonly End[] = ['near', 'far']
/** Of both ends, which are reachable from each other only. */
export const addresses: Readonly<Record<End, string>> = { near: '10.213.0.1', far: '10.213.0.2' }
const NETWORK = '10.213.0.0/30'

/** Unique to this process, and short enough for the name of a device. */
const nameOf = (end: End): string => `adit-${end}-${process.pid % 100_000}`

const ip = (line: string): Promise<string> => outputOf(needTool('ip'), splitArguments(line))

/**
 * Two network namespaces that are joined by a link with delay and loss, for kernels without netem. Their packets leave
 * through TUN devices, which socat opens because Node cannot, and a program relays them. Needs root.
 */
export class Link implements AsyncDisposable {
  readonly #parts: AsyncDisposableStack

  private constructor(parts: AsyncDisposableStack) {
    this.#parts = parts
  }

  static async open(shape: LinkShape): Promise<Link> {
    await using parts = new AsyncDisposableStack()
    const relay = program('distance/relay-program.ts')
    parts.defer(() => void relay.kill())
    const job: RelayJob = { ...shape, near: await freePort(), far: await freePort() }
    const ports = await ask<RelayPorts>(relay, job)
    for (const end of ends) {
      const name = nameOf(end)
      const args = [`UDP4-DATAGRAM:127.0.0.1:${ports[end]},bind=127.0.0.1:${job[end]}`]
      const device = parts.use(
        new RunningProgram(needTool('socat'), [...args, `TUN,tun-name=${name},tun-type=tun,iff-no-pi`]),
      )
      await device.until('its device', () => existsSync(`/sys/class/net/${name}`))
      await ip(`netns add ${name}`)
      parts.defer(async () => void (await ip(`netns del ${name}`)))
      await ip(`link set ${name} netns ${name}`)
      await ip(`-n ${name} link set lo up`)
      await ip(`-n ${name} address add ${addresses[end]}/30 dev ${name}`)
      await ip(`-n ${name} link set ${name} up`)
    }
    return new Link(parts.move())
  }

  /** New connections over the link use this congestion control. */
  async control(algorithm: string): Promise<void> {
    for (const end of ends) {
      const name = nameOf(end)
      await ip(`-n ${name} route replace ${NETWORK} dev ${name} congctl ${algorithm}`)
    }
  }

  /** Starts a program at one end. */
  start(
    end: End,
    path: string,
    args: readonly string[],
    environment: Record<string, string> = {},
  ): RunningProgram {
    return new RunningProgram(needTool('ip'), ['netns', 'exec', nameOf(end), path, ...args], environment)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#parts.disposeAsync()
  }
}
