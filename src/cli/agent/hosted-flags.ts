import type { Flags } from '#cli/agent/given-flags.ts'
import { bindTlsSchemes } from '#cli/agent/hosted-keys.ts'
import { addressed, type TunnelKind, web } from '#tunnel/tunnel-option.ts'
import { UsageError } from '#cli/failure.ts'

/** How a flag of the hosted agent is handled: rejected, replaced by flags of ours, or ignored with a note. */
type Outcome =
  | { readonly reject: string }
  | { readonly flags: Readonly<Record<string, readonly string[]>> }
  | { readonly note: string }
  | 'accepted'

/** A flag of the hosted agent that is not an option here. */
interface HostedFlag {
  /** The commands that take it; all when absent. */
  readonly kinds?: readonly TunnelKind[]
  readonly outcome: (value: string, flags: Flags) => Outcome
}

const noTrafficPolicy = (): Outcome => ({
  reject:
    'is not supported: Adit has no traffic policies. Use a flag for each rule instead, such as --basic-auth, ' +
    '--oauth, --allow-cidr or --request-header-add, or configure an edge (docs/edges.md)',
})

const inFile = (flag: string, variable: string) => (): Outcome => ({
  reject: `is not accepted, because every user of this machine can read the arguments of a program. Write the secret to a file and use ${flag}, or set ${variable}`,
})

function bindTls(value: string): Outcome {
  const schemes = bindTlsSchemes[value]
  return schemes === undefined
    ? { reject: 'must be true, false or both; see --scheme' }
    : { flags: { '--scheme': schemes } }
}

function terminateAt(value: string, flags: Flags): Outcome {
  if (value === 'upstream') return 'accepted'
  if (value === 'edge')
    return { reject: 'edge is not supported: use "adit http", where the gateway terminates TLS' }
  if (value !== 'agent') return { reject: 'must be agent or upstream' }
  return flags.has('--crt') && flags.has('--key')
    ? 'accepted'
    : { reject: 'agent needs the certificate and its key: add --crt and --key' }
}

export const hostedFlags: Readonly<Record<string, HostedFlag>> = {
  '--region': {
    outcome: value => ({ note: `--region ${value} is ignored: --server selects the gateway` }),
  },
  '--binding': {
    kinds: addressed,
    outcome: value =>
      value === 'public'
        ? 'accepted'
        : {
            reject: `${value} is not supported: endpoints are public. For an endpoint that only an edge can reach, use "adit tunnel --label"`,
          },
  },
  '--bind-tls': { kinds: web, outcome: bindTls },
  '--terminate-at': { kinds: ['tls'], outcome: terminateAt },
  '--traffic-policy-file': { kinds: addressed, outcome: noTrafficPolicy },
  '--traffic-policy-url': { kinds: addressed, outcome: noTrafficPolicy },
  '--policy-file': { kinds: addressed, outcome: noTrafficPolicy },
  '--oauth-client-secret': {
    kinds: web,
    outcome: inFile('--oauth-client-secret-file', 'ADIT_OAUTH_CLIENT_SECRET'),
  },
  '--oidc-client-secret': {
    kinds: web,
    outcome: inFile('--oidc-client-secret-file', 'ADIT_OIDC_CLIENT_SECRET'),
  },
  '--verify-webhook-secret': {
    kinds: web,
    outcome: inFile('--verify-webhook-secret-file', 'ADIT_VERIFY_WEBHOOK_SECRET'),
  },
}

interface TranslatedFlags {
  readonly flags: Flags
  /** Notes for the user about ignored flags. */
  readonly notes: readonly string[]
}

/** Replaces flags of the hosted agent by their equivalents. */
export function translateFlags(given: Flags): TranslatedFlags {
  const flags = new Map(given)
  const notes: string[] = []
  for (const [flag, { outcome }] of Object.entries(hostedFlags)) {
    const value = given.get(flag)?.at(-1)
    if (value === undefined) continue
    flags.delete(flag)
    const result = outcome(value, given)
    if (result === 'accepted') continue
    if ('reject' in result) throw new UsageError(`${flag} ${result.reject}.`)
    if ('note' in result) notes.push(result.note)
    else for (const [name, texts] of Object.entries(result.flags)) flags.set(name, texts)
  }
  return { flags, notes }
}
