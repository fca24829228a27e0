import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSecureContext, type SecureContext } from 'node:tls'
import { AgentError } from '#agent/agent-error.ts'
import { authorities, systemAuthorities } from '#agent/authorities.ts'
import { Problem } from '#base/errors.ts'
import { isLoopbackHost } from '#base/hosts.ts'
import { dataFolder } from '#base/running-server.ts'

/** Whom an agent takes for a gateway. */
export class Trust {
  /** As it was named. */
  readonly given: string | undefined
  readonly #named: readonly string[]
  readonly #isOnly: boolean
  #context: { readonly local: string; readonly made: SecureContext } | undefined

  /**
   * `ca` is PEM text, the path of a file with it, or `host` for the store of the system. It counts beside the CAs that
   * the machine trusts, so that a gateway may change to a public certificate; with `only` it counts alone.
   */
  constructor(ca: string | undefined, only = false) {
    this.given = ca
    this.#isOnly = only && ca !== undefined
    this.#named = ca === undefined || ca === 'host' ? [] : authorities(ca)
  }

  contextFor(host: string): SecureContext {
    // On the gateway's own machine its authority is at hand; it may have been made since the last attempt.
    const local = !this.#isOnly && isLoopbackHost(host) ? localAuthority() : ''
    if (this.#context?.local !== local) this.#context = { local, made: this.#make(local) }
    return this.#context.made
  }

  #make(local: string): SecureContext {
    // The roots of the system are read only where they can count: it takes time and memory.
    const needsRoots = this.given === 'host' || (!this.#isOnly && local === '')
    const roots = needsRoots ? systemAuthorities() : []
    const ca = [...roots, ...this.#named, ...(local === '' ? [] : [local])]
    try {
      return createSecureContext({ ca, minVersion: 'TLSv1.2' })
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
    // The agent was started elsewhere, or may not look into the gateway's folder.
    return ''
  }
}
