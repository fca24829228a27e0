import { execFileSync } from 'node:child_process'
import type { LossDirection } from './agent-support-relay.ts'

const run = (program: string, ...args: string[]): string =>
  execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })

/** A virtual cable between this machine and a network namespace, which can drop packets. */
export class VirtualCable implements Disposable {
  readonly namespace = `agt${process.pid}`
  /** The end that is here, where the gateway listens. */
  readonly address = '10.213.77.1'
  readonly #near = `agt${process.pid}n`
  readonly #far = `agt${process.pid}f`
  readonly #table = `agt${process.pid}`

  constructor() {
    run('ip', 'netns', 'add', this.namespace)
    run('ip', 'link', 'add', this.#near, 'type', 'veth', 'peer', 'name', this.#far, 'netns', this.namespace)
    run('ip', 'addr', 'add', `${this.address}/30`, 'dev', this.#near)
    run('ip', 'link', 'set', this.#near, 'up')
    this.#inside('ip', 'addr', 'add', '10.213.77.2/30', 'dev', this.#far)
    this.#inside('ip', 'link', 'set', this.#far, 'up')
    this.#inside('ip', 'link', 'set', 'lo', 'up')
  }

  /** Packets are dropped on arrival, so that their sender gets no error. */
  drop(lost: LossDirection): void {
    const rules = (dev: string): string =>
      `table inet ${this.#table} { chain in { type filter hook input priority 0; iifname "${dev}" drop; }; }`
    if (lost !== 'to agent') run('nft', rules(this.#near))
    if (lost !== 'to gateway') this.#inside('nft', rules(this.#far))
  }

  heal(): void {
    for (const nft of [run, this.#inside])
      try {
        nft('nft', 'delete', 'table', 'inet', this.#table)
      } catch {
        // Nothing was dropped there.
      }
  }

  [Symbol.dispose](): void {
    this.heal()
    run('ip', 'link', 'del', this.#near)
    run('ip', 'netns', 'del', this.namespace)
  }

  readonly #inside = (program: string, ...args: string[]): string =>
    run('ip', 'netns', 'exec', this.namespace, program, ...args)
}
