import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SecureContext } from 'node:tls'
import { AgentError } from '#agent/agent-error.ts'
import { authorities, moreAuthorities } from '#agent/authorities.ts'
import { Problem } from '#base/errors.ts'
import { isLoopbackHost } from '#base/hosts.ts'
import { dataFolder } from '#base/running-server.ts'
import { contextTrusting, contextTrustingAlso } from '#base/trusting-context.ts'

/** Which gateways an agent trusts. */
export class Trust {
  /** As configured. */
  readonly given: string | undefined
  readonly #named: readonly string[]
  readonly #isOnly: boolean
  #context: { readonly local: string; readonly made: SecureContext } | undefined
  readonly #sessions = new Map<string, Buffer>()

  /**
   * `ca` is PEM text, the path of a file with it, or `host` for the system's store. It is trusted in addition to the
   * machine's CAs, so that a gateway may change to a public certificate; with `only` it is the only one.
   */
  constructor(ca: string | undefined, only = false) {
    this.given = ca
    this.#isOnly = only && ca !== undefined
    this.#named = ca === undefined || ca === 'host' ? [] : authorities(ca)
  }

  contextFor(host: string): SecureContext {
    // On the gateway's own machine its CA file is used; it may have been created since the last attempt.
    const local = !this.#isOnly && isLoopbackHost(host) ? localAuthority() : ''
    if (this.#context?.local !== local) this.#context = { local, made: this.#make(local) }
    return this.#context.made
  }

  /** The last TLS session with a trusted gateway of this name. */
  sessionWith(host: string): Buffer | undefined {
    return this.#sessions.get(host)
  }

  /** Every node resumes the sessions of the others, with about half the work of a handshake for both sides. */
  keepSession(host: string, session: Buffer): void {
    this.#sessions.set(host, session)
  }

  #make(local: string): SecureContext {
    // The system's roots are read only if they are used: it takes time and memory.
    const needsRoots = this.given === 'host' || (!this.#isOnly && local === '')
    const named = [...this.#named, ...(local === '' ? [] : [local])]
    try {
      return needsRoots ? contextTrustingAlso([...moreAuthorities(), ...named]) : contextTrusting(named)
    } catch (error) {
      const problem = new Problem('agent_file', { path: 'with the authority', reason: 'it is not PEM' })
      throw AgentError.of(problem, { permanent: true, cause: error })
    }
  }
}

function localAuthority(): string {
  try {
    return readFileSync(join(dataFolder(process.env), 'ca.pem'), 'utf8')
  } catch {
    // The agent was started elsewhere, or may not read the gateway's folder.
    return ''
  }
}
