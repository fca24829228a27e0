import { inBackground } from '#base/background.ts'
import type { Log } from '#base/log.ts'
import { isDue, type Leaf, type LocalAuthority } from '#pki/local-authority.ts'

interface LeafCertificatesOptions {
  readonly authority: Pick<LocalAuthority, 'issue'>
  readonly log: Log
  readonly now: () => number
}

const MAX_LEAVES = 1000
/** Clients of a wildcard can request endless new names; each costs some work, so only a few are created at a time. */
const MAX_ISSUING = 4

/** A wildcard of a certificate stands for one label. */
const covered = (names: readonly string[], name: string): boolean =>
  names.includes(name) || names.includes(name.replace(/^[^.]*/, '*'))

/** Certificates of the local CA: the default one, and those created on demand for single names. */
export class LeafCertificates {
  readonly #options: LeafCertificatesOptions
  readonly #leaves = new Map<string, Leaf>()
  readonly #issuing = new Map<string, Promise<Leaf | undefined>>()
  #names: readonly string[]
  #standard: Leaf
  #renewing = false

  constructor(options: LeafCertificatesOptions, names: readonly string[], standard: Leaf) {
    this.#options = options
    this.#names = names
    this.#standard = standard
  }

  /** The default certificate. One that is due is replaced in the background, and serves until then. */
  get standard(): Leaf {
    if (isDue(this.#standard, this.#options.now())) this.#renewSoon()
    return this.#standard
  }

  /** Whether the default certificate is valid for a name. */
  covers(name: string): boolean {
    return covered(this.#names, name)
  }

  async rename(names: readonly string[]): Promise<void> {
    this.#standard = await this.#options.authority.issue(names)
    this.#names = names
  }

  /** A certificate for one name; undefined when none can be created at the moment. */
  async for(name: string): Promise<Leaf | undefined> {
    const known = this.#leaves.get(name)
    if (known !== undefined && !isDue(known, this.#options.now())) return known
    const running = this.#issuing.get(name)
    if (running !== undefined) return running
    if (this.#issuing.size >= MAX_ISSUING) return known
    const issuing = this.#issue(name)
    this.#issuing.set(name, issuing)
    return (await issuing) ?? known
  }

  async #issue(name: string): Promise<Leaf | undefined> {
    try {
      const leaf = await this.#options.authority.issue([name])
      this.#keep(name, leaf)
      return leaf
    } catch (error) {
      this.#options.log.error({ error, name }, 'the local CA could not sign a certificate')
      return undefined
    } finally {
      this.#issuing.delete(name)
    }
  }

  #renewSoon(): void {
    if (this.#renewing) return
    this.#renewing = true
    const names = this.#names
    const { log } = this.#options
    const failed = 'the default certificate could not be renewed'
    void inBackground({ task: 'tls', log, failed, about: { names } }, () => this.#renew(names)).finally(
      () => {
        this.#renewing = false
      },
    )
  }

  async #renew(names: readonly string[]): Promise<void> {
    const leaf = await this.#options.authority.issue(names)
    if (this.#names === names) this.#standard = leaf
  }

  #keep(name: string, leaf: Leaf): void {
    this.#leaves.delete(name)
    this.#leaves.set(name, leaf)
    const oldest = this.#leaves.keys().next()
    if (this.#leaves.size > MAX_LEAVES && !oldest.done) this.#leaves.delete(oldest.value)
  }
}
