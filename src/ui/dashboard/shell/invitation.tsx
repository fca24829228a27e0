import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ErrorBox } from '#ui/dashboard/shell/parts.tsx'
import { go } from '#ui/dashboard/router.ts'
import { acceptInvitation } from '#ui/dashboard/session.ts'
import { NewPassword } from '#ui/dashboard/shell/new-password.tsx'
import { takeToken } from '#ui/dashboard/shell/link-token.ts'

/** Where an invited user sets a password. */
export function Invitation(): JSX.Element {
  const [token, setToken] = useState<string>()
  const [password, setPassword] = useState('')
  const [error, setError] = useState<Error>()
  const [isBusy, setIsBusy] = useState(false)
  useEffect(() => {
    document.title = 'Set a password · Adit'
    setToken(takeToken() ?? '')
  }, [])
  const accept = async (): Promise<void> => {
    setIsBusy(true)
    setError(undefined)
    try {
      await acceptInvitation(token ?? '', password)
      go('/', 'replace')
    } catch (cause) {
      setError(cause instanceof Error ? cause : new Error(String(cause)))
    }
    setIsBusy(false)
  }
  return (
    <main class="sign-in">
      <p class="brand">Adit</p>
      <h1>Set your password</h1>
      {token === '' && (
        <p class="box bad" role="alert">
          This address contains no invitation. Open the whole link again, or ask an admin for another one.
        </p>
      )}
      <p class="hint">You sign in with it and your e-mail address.</p>
      <form
        onSubmit={event => {
          event.preventDefault()
          void accept()
        }}
      >
        <NewPassword value={password} onInput={setPassword} />
        <button type="submit" class="primary" disabled={isBusy}>
          Set password and sign in
        </button>
      </form>
      {error && <ErrorBox error={error} />}
    </main>
  )
}
