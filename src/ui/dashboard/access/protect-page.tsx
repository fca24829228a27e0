import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { oauthProviders } from '#contract/modules/oauth.ts'
import { titleOf } from '#contract/names.ts'
import { api } from '#ui/dashboard/api.ts'
import { protect, protectable, type Protectable, type SignInDraft } from '#ui/dashboard/access/protect.ts'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { href, place } from '#ui/dashboard/router.ts'
import { ErrorBox, PageHead, Shown, Snippet } from '#ui/dashboard/shell/parts.tsx'

/** Requires sign-in at an endpoint or route. */
export function ProtectPage(): JSX.Element {
  const { query } = place.value
  const loaded = useLoaded(`protect ${query}`, () => protectable(query))
  return (
    <>
      <PageHead title="Protect with sign-in" sub="Only these users get through to the service." />
      <Shown of={loaded}>
        {target =>
          target.type === 'agent' ? (
            <ByAgent url={target.url} />
          ) : (
            <ProtectForm target={target} route={query.get('route') ?? undefined} />
          )
        }
      </Shown>
    </>
  )
}

const ByAgent = ({ url }: { url: string }): JSX.Element => (
  <section class="card" aria-label="By the agent">
    <p>{url} belongs to an agent, without a reserved domain. Start the agent with:</p>
    <Snippet label="Agent command" text="adit http 3000 --oauth google --oauth-allow-email you@example.com" />
  </section>
)

type FormTarget = Exclude<Protectable, { type: 'agent' }>

const firstRoute = (target: FormTarget, wanted: string | undefined): string =>
  target.type === 'edge'
    ? (wanted ?? (target.routes.find(({ match }) => match === '/') ?? target.routes[0])?.id ?? '')
    : ''

function ProtectForm(props: { target: FormTarget; route: string | undefined }): JSX.Element {
  const { target } = props
  const [route, setRoute] = useState(firstRoute(target, props.route))
  const [draft, setDraft] = useState<SignInDraft>({
    provider: 'google',
    clientId: '',
    clientSecret: '',
    allowed: '',
  })
  const [error, setError] = useState<Error>()
  const [isSaved, setIsSaved] = useState(false)
  const save = async (): Promise<void> => {
    setError(undefined)
    setIsSaved(false)
    try {
      await protect(target, route, draft)
      setIsSaved(true)
    } catch (cause) {
      setError(cause instanceof Error ? cause : new Error(String(cause)))
    }
  }
  return (
    <section class="card" aria-label="Sign-in">
      <form
        class="connect"
        onSubmit={event => {
          event.preventDefault()
          void save()
        }}
      >
        {target.type === 'edge' && (
          <label>
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
        <SignInFields draft={draft} change={part => setDraft({ ...draft, ...part })} />
        <button type="submit" class="primary">
          Save
        </button>
      </form>
      {error && <ErrorBox error={error} />}
      {isSaved && (
        <p class="dot on" role="status">
          Saved.{' '}
          {target.url !== '' && (
            <a href={target.url} target="_blank" rel="noreferrer">
              Try it in a new tab
            </a>
          )}{' '}
          <a href={href(['application_sessions'])}>Signed-in users and sessions</a>
        </p>
      )}
    </section>
  )
}

function SignInFields(props: {
  draft: SignInDraft
  change: (part: Partial<SignInDraft>) => void
}): JSX.Element {
  const { draft, change } = props
  return (
    <>
      <label>
        Provider
        <select value={draft.provider} onChange={event => change({ provider: event.currentTarget.value })}>
          {Object.keys(oauthProviders).map(name => (
            <option key={name} value={name}>
              {titleOf(name)}
            </option>
          ))}
        </select>
      </label>
      <label>
        Allowed e-mail addresses and domains
        <textarea
          rows={2}
          spellcheck={false}
          placeholder="example.com, bob@example.org"
          value={draft.allowed}
          onInput={event => change({ allowed: event.currentTarget.value })}
        />
      </label>
      <details>
        <summary>Your own application at the provider</summary>
        <RedirectUrl />
        <label>
          Client id, empty for the application of the server
          <input
            autocomplete="off"
            value={draft.clientId}
            onInput={event => change({ clientId: event.currentTarget.value })}
          />
        </label>
        <label>
          Client secret
          <input
            type="password"
            autocomplete="new-password"
            value={draft.clientSecret}
            onInput={event => change({ clientSecret: event.currentTarget.value })}
          />
        </label>
      </details>
    </>
  )
}

/** What has to be registered at the provider, for all endpoints of the server. */
function RedirectUrl(): JSX.Element | null {
  const { value } = useLoaded('redirect URL', async () => {
    const { listeners } = await api.status()
    return listeners.find(({ name }) => name === 'https')?.public_address
  })
  if (value === undefined) return null
  return (
    <>
      <p>Register this redirect URL there:</p>
      <Snippet label="Redirect URL" text={`${value.replace('://', '://idp.')}/oauth2/callback`} />
    </>
  )
}
