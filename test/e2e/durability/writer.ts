import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import type { Answer, Caller } from '../../support/server.ts'
import type { Random } from './random.ts'
import { create, remove, replaceModule, update, type Operation } from './operation.ts'
import type { Body, World } from './world.ts'

const MAX_RESOURCES = 24

/** Makes calls one after another and knows the required effect of the acknowledged ones. */
export class Writer {
  readonly name: string
  readonly #random: Random
  #count = 0
  world: World = new Map()
  /** The call that was sent and not yet answered. */
  pending: Operation | undefined
  /** Calls that were never acknowledged, and how many of them were carried out all the same. */
  unanswered = 0
  tookEffect = 0
  /** Paths of what was removed. */
  readonly removed: string[] = []

  constructor(name: string, random: Random) {
    this.name = name
    this.#random = random
  }

  /** Writes until its server is gone; `acknowledged` is called for each write that succeeded. */
  async write(api: Caller, acknowledged: () => void): Promise<void> {
    for (;;) {
      const answer = await this.attempt(api)
      if (!answer) return
      assert.ok(answer.status < 300, `${JSON.stringify(this.pending)}: ${JSON.stringify(answer.body)}`)
      acknowledged()
    }
  }

  /** One call. It stays pending when there is no answer, or one that does not acknowledge it. */
  async attempt(api: Caller): Promise<Answer | undefined> {
    const operation = this.#choose()
    this.pending = operation
    const { method, path, body } = operation
    const answer = await api.call(method, path, body && { body }).catch(() => undefined)
    if (answer && answer.status < 300) this.#settle(operation.apply(this.world, answer, api))
    return answer
  }

  /** Accepts the state found after a restart, if the calls can have led to it. */
  accept(found: World): boolean {
    const unchanged = isDeepStrictEqual(found, this.world)
    if (!unchanged && !this.pending?.explains(this.world, found)) return false
    if (this.pending) this.unanswered += 1
    if (!unchanged) this.tookEffect += 1
    this.#settle(found)
    return true
  }

  #settle(world: World): void {
    for (const path of this.world.keys()) if (!world.has(path)) this.removed.push(path)
    this.world = world
    this.pending = undefined
  }

  /** The next call; more is removed the more there is. */
  #choose(): Operation {
    const full = this.world.size / MAX_RESOURCES
    if (this.#random.next() < full / 3) return this.#removal()
    return this.#random.next() < 0.5 ? this.#creation() : this.#changeOfOne()
  }

  #about(): Body {
    this.#count += 1
    return { description: `${this.name} ${this.#count}`, metadata: this.name }
  }

  #paths(form: RegExp): string[] {
    return [...this.world.keys()].filter(path => form.test(path))
  }

  #creation(): Operation {
    const about = this.#about()
    const policy = this.#random.pick(this.#paths(/^\/ip_policies\//))
    const edge = this.#random.pick(this.#paths(/^\/edges\/https\/[^/]+$/))
    const rule = { cidr: `10.${(this.#count >> 8) & 255}.${this.#count & 255}.0/24`, action: 'allow' }
    const choices = [
      create('/ip_policies', about),
      create('/edges/https', about),
      ...(policy === undefined
        ? []
        : [create('/ip_policy_rules', { ...about, ...rule, ip_policy_id: policy.split('/').at(-1) })]),
      ...(edge === undefined
        ? []
        : [create(`${edge}/routes`, { ...about, match_type: 'path_prefix', match: `/${this.#count}` })]),
    ]
    return this.#random.pick(choices.slice(-3)) ?? create('/ip_policies', about)
  }

  #changeOfOne(): Operation {
    const path = this.#random.pick([...this.world.keys()])
    if (path === undefined) return this.#creation()
    const { description } = this.#about()
    if (!/\/routes\//.test(path) || this.#random.next() < 0.4) return update(path, { description })
    const headers = { enabled: true, add: { 'x-made': String(description) }, remove: ['x-gone'] }
    return this.#random.next() < 0.5
      ? replaceModule(path, 'request_headers', headers)
      : replaceModule(path, 'compression', { enabled: this.#random.next() < 0.5 })
  }

  #removal(): Operation {
    const path = this.#random.pick([...this.world.keys()])
    return path === undefined ? this.#creation() : remove(path)
  }
}
