import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { changePassword, user } from '#ui/dashboard/session.ts'
import { NewPassword } from '#ui/dashboard/shell/new-password.tsx'
import { ErrorBox, PageHead } from '#ui/dashboard/shell/parts.tsx'

/** Where a signed-in user changes the own password, or sets the first one. */
export function PasswordPage(): JSX.Element {
  const [current, setCurrent] = useState('')
  const [password, setPassword] = useState('')
  const [error, setError] = useState<Error>()
  const [isChanged, setIsChanged] = useState(false)
  const [isBusy, setIsBusy] = useState(false)
  const change = async (): Promise<void> => {
    setIsBusy(true)
    setError(undefined)
    setIsChanged(false)
    try {
      await changePassword(current, password)
      setIsChanged(true)
      setCurrent('')
      setPassword('')
    } catch (cause) {
      setError(cause instanceof Error ? cause : new Error(String(cause)))
    }
    setIsBusy(false)
  }
  return (
    <>
      <PageHead title="Change your password" sub="All other browsers with your sessions are signed out." />
      <section class="card" aria-label="Password">
        <form
          class="connect"
          onSubmit={event => {
            event.preventDefault()
            void change()
          }}
        >
          {/* For password managers. */}
          <input type="hidden" name="username" autocomplete="username" value={user.value?.email} />
          <label>
            Current password
            <input
              type="password"
              name="current_password"
              autocomplete="current-password"
              aria-describedby="no-password"
              value={current}
              onInput={event => setCurrent(event.currentTarget.value)}
            />
          </label>
          <p id="no-password" class="hint">
            Empty if you have none, because you sign in by a link, a passkey or your organisation.
          </p>
          <NewPassword value={password} onInput={setPassword} />
          <button type="submit" class="primary" disabled={isBusy}>
            Change password
          </button>
          {error && <ErrorBox error={error} />}
          {isChanged && (
            <p class="box" role="status">
              The password is changed. All other browsers are signed out.
            </p>
          )}
        </form>
      </section>
    </>
  )
}
