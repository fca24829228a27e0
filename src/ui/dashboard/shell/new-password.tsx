import type { JSX } from 'preact'
import { useState } from 'preact/hooks'

const MIN_LENGTH = 12

/** How long it takes to guess, by length and variety; the server also rejects common words. */
function strengthOf(password: string): { readonly rank: 0 | 1 | 2 | 3; readonly text: string } {
  const letters = Array.from(password)
  if (letters.length < MIN_LENGTH) return { rank: 0, text: `Too short: ${letters.length} of ${MIN_LENGTH}` }
  const variety = Math.min(letters.length, 2 * new Set(letters).size)
  if (variety < MIN_LENGTH + 4) return { rank: 1, text: 'Fair' }
  return variety < MIN_LENGTH + 8 ? { rank: 2, text: 'Good' } : { rank: 3, text: 'Strong' }
}

/** The field for a new password, which can be shown instead of repeated. */
export function NewPassword(props: { value: string; onInput: (value: string) => void }): JSX.Element {
  const [isShown, setIsShown] = useState(false)
  const { rank, text } = strengthOf(props.value)
  return (
    <>
      <label>
        New password
        <input
          {...(isShown ? { type: 'text' } : { type: 'password' })}
          name="password"
          autocomplete="new-password"
          aria-describedby="password-strength"
          required
          value={props.value}
          onInput={event => props.onInput(event.currentTarget.value)}
        />
      </label>
      <p id="password-strength" class="hint" aria-live="polite">
        {props.value === '' ? (
          `At least ${MIN_LENGTH} characters, such as several unrelated words.`
        ) : (
          <>
            <meter aria-hidden="true" min={0} max={3} low={1} high={3} optimum={3} value={rank} /> {text}
          </>
        )}
      </p>
      <label class="toggle">
        <input
          type="checkbox"
          checked={isShown}
          onChange={event => setIsShown(event.currentTarget.checked)}
        />
        Show it
      </label>
    </>
  )
}
