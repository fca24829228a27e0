import type { JSX } from 'preact'
import { oauthProviders } from '#contract/modules/oauth.ts'
import { titleOf } from '#contract/names.ts'
import { OPENID, type SignInDraft } from '#ui/dashboard/access/protect.ts'
import { api } from '#ui/dashboard/api.ts'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { Shown, Snippet } from '#ui/dashboard/shell/parts.tsx'

interface FieldsProps {
  readonly draft: SignInDraft
  readonly change: (part: Partial<SignInDraft>) => void
}

/** What the server has for signing users in. */
interface Offered {
  /** Providers at which it has an application. */
  readonly applications: readonly string[]
  /** What has to be registered at the provider, for all endpoints of the server; undefined without HTTPS. */
  readonly redirectUrl: string | undefined
}

async function loadOffered(): Promise<Offered> {
  const { sign_in_applications: applications, listeners } = await api.status()
  const https = listeners.find(({ name }) => name === 'https')?.public_address
  return { applications, redirectUrl: https && `${https.replace('://', '://idp.')}/oauth2/callback` }
}

/** Who signs in, and where. */
export function SignInFields(props: FieldsProps): JSX.Element {
  const loaded = useLoaded('sign-in offered', loadOffered)
  return <Shown of={loaded}>{offered => <Fields {...props} offered={offered} />}</Shown>
}

function Fields({ draft, change, offered }: FieldsProps & { offered: Offered }): JSX.Element {
  const { provider } = draft
  const isManaged = offered.applications.includes(provider)
  const title = titleOf(provider)
  return (
    <>
      <label>
        Provider
        <select value={provider} onChange={event => change({ provider: event.currentTarget.value })}>
          {Object.keys(oauthProviders).map(name => (
            <option key={name} value={name}>
              {titleOf(name)}
            </option>
          ))}
          <option value={OPENID}>Another OpenID provider</option>
        </select>
      </label>
      {provider === OPENID ? (
        <Issuer draft={draft} change={change} />
      ) : (
        <label>
          Allowed e-mail addresses and domains
          <textarea
            rows={2}
            spellcheck={false}
            placeholder="example.com, bob@example.org"
            required={isManaged && draft.clientId === ''}
            value={draft.allowed}
            onInput={event => change({ allowed: event.currentTarget.value })}
          />
          {!isManaged && <span class="hint">Empty: all users of {title} can sign in.</span>}
        </label>
      )}
      {isManaged ? (
        <>
          <p class="dot on">The server has an application at {title}: nothing has to be registered.</p>
          <details>
            <summary>Your own application at the provider</summary>
            <ApplicationFields {...{ draft, change, offered }} isRequired={false} />
          </details>
        </>
      ) : (
        <fieldset>
          <legend>Your own application at the provider</legend>
          {provider !== OPENID && <p class="hint">The server has none at {title}.</p>}
          <ApplicationFields {...{ draft, change, offered }} isRequired />
        </fieldset>
      )}
    </>
  )
}

const Issuer = ({ draft, change }: FieldsProps): JSX.Element => (
  <>
    <label>
      URL of the provider
      <input
        type="url"
        required
        placeholder="https://id.example.com"
        value={draft.issuer}
        onInput={event => change({ issuer: event.currentTarget.value })}
      />
    </label>
    <p class="hint">The provider decides who has access: all of its users can sign in.</p>
  </>
)

function ApplicationFields(props: FieldsProps & { offered: Offered; isRequired: boolean }): JSX.Element {
  const { draft, change, offered, isRequired } = props
  return (
    <>
      {offered.redirectUrl !== undefined && (
        <>
          <p>Register this redirect URL there:</p>
          <Snippet label="Redirect URL" text={offered.redirectUrl} />
        </>
      )}
      <label>
        {isRequired ? 'Client id' : 'Client id, empty for the application of the server'}
        <input
          autocomplete="off"
          required={isRequired}
          value={draft.clientId}
          onInput={event => change({ clientId: event.currentTarget.value })}
        />
      </label>
      <label>
        Client secret
        <input
          type="password"
          autocomplete="new-password"
          required={isRequired}
          value={draft.clientSecret}
          onInput={event => change({ clientSecret: event.currentTarget.value })}
        />
      </label>
    </>
  )
}
