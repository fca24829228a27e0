import type { JSX } from 'preact'
import { oauthProviders } from '#contract/modules/oauth.ts'
import { titleOf } from '#contract/names.ts'
import type { SignInDraft } from '#ui/dashboard/access/protect.ts'
import { api } from '#ui/dashboard/api.ts'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { Snippet } from '#ui/dashboard/shell/parts.tsx'

/** Who signs in, and where. */
export function SignInFields(props: {
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
