import type { JSX } from 'preact'
import { useState } from 'preact/hooks'

/** The field for a new password, which can be shown instead of repeated. */
export function NewPassword(props: { value: string; onInput: (value: string) => void }): JSX.Element {
  const [isShown, setIsShown] = useState(false)
  return (
    <>
      <label>
        New password
        <input
          {...(isShown ? { type: 'text' } : { type: 'password' })}
          name="password"
          autocomplete="new-password"
          required
          value={props.value}
          onInput={event => props.onInput(event.currentTarget.value)}
        />
      </label>
      <label class="toggle">
        <input
          type="checkbox"
          checked={isShown}
          onChange={event => setIsShown(event.currentTarget.checked)}
        />
        Show it
      </label>
      <p class="hint">At least 12 characters, such as several unrelated words.</p>
    </>
  )
}
