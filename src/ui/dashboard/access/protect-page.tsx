import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { signInModules } from '#contract/modules/sign-in.ts'
import { titleOf } from '#contract/names.ts'
import { CertificateFields } from '#ui/dashboard/access/certificate-fields.tsx'
import {
  guardsAt,
  OPENID,
  makePublic,
  protectable,
  requireCertificate,
  requirePassword,
  requireSignIn,
  type CertificateDraft,
  type FormTarget,
  type Protectable,
  type SignInDraft,
} from '#ui/dashboard/access/protect.ts'
import { SignInFields } from '#ui/dashboard/access/sign-in-fields.tsx'
import { SignedIn } from '#ui/dashboard/access/signed-in.tsx'
import { Confirmed } from '#ui/dashboard/kinds/confirm.tsx'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { place } from '#ui/dashboard/router.ts'
import { ErrorBox, PageHead, Shown, Snippet } from '#ui/dashboard/shell/parts.tsx'
import { Tabs } from '#ui/dashboard/shell/tabs.tsx'

/** The kinds that protection is configured at. */
const CONFIGURED = new Set(['https_edge', 'https_edge_route', 'endpoint_configuration', 'reserved_domain'])

/** Decides who gets through to an endpoint or route. */
export function ProtectPage(): JSX.Element {
  const { query } = place.value
  const loaded = useLoaded(`protect ${query}`, () => protectable(query), {
    on: ({ kind }) => CONFIGURED.has(kind),
  })
  return (
    <>
      <PageHead title={titleFor(loaded.value)} sub="Only these clients get through to the service." />
      <Shown of={loaded}>
        {target =>
          target.type === 'agent' ? (
            <ByAgent url={target.url} />
          ) : (
            <Protection target={target} route={query.get('route') ?? undefined} changed={loaded.reload} />
          )
        }
      </Shown>
    </>
  )
}

function titleFor(target: Protectable | undefined): string {
  const host = /^\w+:\/\/([^/]+)/.exec(target?.url ?? '')?.[1]
  return host === undefined ? 'Protect' : `Protect ${host}`
}

const agentOptions = {
  'Sign-in': '--oauth google --oauth-allow-email you@example.com',
  Password: '--basic-auth alice:PASSWORD',
  'Client certificate': '--mutual-tls-ca staff-ca.pem',
}

const ByAgent = ({ url }: { url: string }): JSX.Element => (
  <section class="card" aria-label="By the agent">
    <p>{url} belongs to an agent, without a reserved domain. Start the agent with:</p>
    <Tabs
      label="Access"
      tabs={Object.entries(agentOptions).map(([name, options]) => ({
        name,
        content: () => <Snippet label="Agent command" text={`adit http 3000 ${options}`} />,
      }))}
    />
  </section>
)

const firstRoute = (target: FormTarget, wanted: string | undefined): string =>
  target.type === 'edge'
    ? (wanted ?? (target.routes.find(({ match }) => match === '/') ?? target.routes[0])?.id ?? '')
    : ''

interface AtRoute {
  readonly target: FormTarget
  readonly route: string
  readonly changed: () => void
}

function Protection(props: {
  target: FormTarget
  route: string | undefined
  changed: () => void
}): JSX.Element {
  const { target, changed } = props
  const [route, setRoute] = useState(firstRoute(target, props.route))
  const guards = guardsAt(target, route)
  return (
    <>
      <section class="card" aria-label="Access">
        {target.type === 'edge' && (
          <label class="toggle">
            Route
            <select value={route} onChange={event => setRoute(event.currentTarget.value)}>
              {target.routes.map(({ id, match }) => (
                <option key={id} value={id}>
                  {match}
                </option>
              ))}
            </select>
          </label>
        )}
        <p class={`dot ${guards.length === 0 ? '' : 'on'}`} role="status">
          {stateOf(target, guards)}
        </p>
        <AccessForm key={route} target={target} route={route} changed={changed} />
      </section>
      <SignedIn target={target} route={route} />
    </>
  )
}

function stateOf({ type }: FormTarget, guards: readonly string[]): string {
  if (guards.length > 0) return `Protected now by ${guards.map(titleOf).join(', ')}.`
  return type === 'edge'
    ? 'Public now: every client gets through.'
    : 'Public now, unless the options of its agent protect it.'
}

const methods = {
  public: 'Public',
  password: 'Password',
  sign_in: 'Sign-in',
  certificate: 'Client certificate',
} as const
type Method = keyof typeof methods

/** How clients prove who they are now; sign-in if they need not. */
function methodOf(guards: readonly string[]): Method {
  const [only] = guards
  if (guards.length !== 1) return 'sign_in'
  return only === 'mutual_tls' ? 'certificate' : only === 'basic_auth' ? 'password' : 'sign_in'
}

function AccessForm(props: AtRoute): JSX.Element {
  const { target, route, changed } = props
  const [method, setMethod] = useState<Method>(() => methodOf(guardsAt(target, route)))
  const [signIn, setSignIn] = useState<SignInDraft>({
    provider: 'google',
    issuer: '',
    clientId: '',
    clientSecret: '',
    allowed: '',
  })
  const [certificate, setCertificate] = useState<CertificateDraft>({ authority: '', pem: '' })
  const [error, setError] = useState<Error>()
  const [isSaved, setIsSaved] = useState(false)
  const save = async (): Promise<void> => {
    setError(undefined)
    setIsSaved(false)
    try {
      if (method === 'sign_in') await requireSignIn(target, route, signIn)
      else if (method === 'password') await requirePassword(target, route)
      else if (method === 'certificate') await requireCertificate(target, route, certificate)
      setIsSaved(true)
      changed()
    } catch (cause) {
      setError(cause instanceof Error ? cause : new Error(String(cause)))
    }
  }
  return (
    <>
      <form
        class="connect"
        onSubmit={event => {
          event.preventDefault()
          void save()
        }}
      >
        <MethodChoice target={target} method={method} choose={setMethod} />
        {method === 'sign_in' && <Replaced provider={signIn.provider} guards={guardsAt(target, route)} />}
        {method === 'sign_in' && (
          <SignInFields draft={signIn} change={part => setSignIn({ ...signIn, ...part })} />
        )}
        {method === 'certificate' && (
          <CertificateFields
            draft={certificate}
            change={part => setCertificate({ ...certificate, ...part })}
          />
        )}
        <MethodNote target={target} method={method} />
        {method !== 'public' && (
          <button type="submit" class="primary">
            Save
          </button>
        )}
      </form>
      {method === 'public' && <MakePublic {...props} />}
      {error && <ErrorBox error={error} />}
      {isSaved && <Saved url={target.url} />}
    </>
  )
}

/** What the other sign-in modules of the target mean for a new provider. */
function Replaced({ provider, guards }: { provider: string; guards: readonly string[] }): JSX.Element | null {
  const module = provider === OPENID ? 'oidc' : 'oauth'
  const others = signInModules.filter(name => name !== module && guards.includes(name))
  return (
    <>
      {guards.includes(module) && (
        <p class="hint">Saving replaces the provider and the allowed users of {titleOf(module)}.</p>
      )}
      {others.length > 0 && <p class="hint">Users choose between it and {others.map(titleOf).join(', ')}.</p>}
    </>
  )
}

const NO_PASSWORD = 'no-password'

function MethodChoice(props: {
  target: FormTarget
  method: Method
  choose: (method: Method) => void
}): JSX.Element {
  // Basic authentication is a module of endpoint configurations only.
  const isImpossible = (method: Method): boolean => method === 'password' && props.target.type === 'edge'
  return (
    <fieldset>
      <legend>Access</legend>
      {(Object.keys(methods) as Method[]).map(each => (
        <label key={each} class="toggle">
          <input
            type="radio"
            name="access"
            value={each}
            checked={each === props.method}
            disabled={isImpossible(each)}
            aria-describedby={isImpossible(each) ? NO_PASSWORD : undefined}
            onChange={() => props.choose(each)}
          />
          {methods[each]}
        </label>
      ))}
      {isImpossible('password') && (
        <p class="hint" id={NO_PASSWORD}>
          Edges cannot require a password: only agents can, and domains without an edge. Use sign-in or client
          certificates.
        </p>
      )}
    </fieldset>
  )
}

/** What a method needs, or what else it affects. */
function MethodNote({ target, method }: { target: FormTarget; method: Method }): JSX.Element | null {
  if (method === 'password' && target.type === 'domain')
    return (
      <>
        <p>
          The agent has the user names and passwords. Start it with them; without a password, every request is
          rejected.
        </p>
        <Snippet
          label="Agent command"
          text={`adit http 3000 --domain ${target.domain} --basic-auth alice:PASSWORD`}
        />
      </>
    )
  if (target.type !== 'edge' || method !== 'certificate') return null
  return <p class="hint">Client certificates are required for all routes of the edge.</p>
}

function MakePublic({ target, route, changed }: AtRoute): JSX.Element {
  const guards = guardsAt(target, route)
  if (guards.length === 0) return <p class="hint">There is nothing to remove.</p>
  const isShared = target.type === 'edge' && target.guards.length > 0
  return (
    <Confirmed
      label="Make public"
      isDangerous
      question={`Remove ${guards.map(titleOf).join(', ')}? Its configuration is lost${
        isShared ? ', and all routes of the edge lose Mutual TLS' : ''
      }.`}
      act={async () => {
        await makePublic(target, route)
        changed()
      }}
    />
  )
}

const Saved = ({ url }: { url: string }): JSX.Element => (
  <p class="dot on" role="status">
    Saved.{' '}
    {url !== '' && (
      <a href={url} target="_blank" rel="noreferrer">
        Try it in a new tab
      </a>
    )}
  </p>
)
