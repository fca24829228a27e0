import type { JSX } from 'preact'
import type { Detail } from '#ui/captured.ts'
import { diffLines, diffSigns } from '#ui/diff.ts'
import { responseText } from '#ui/response-text.ts'

/** The differences between two responses. */
export function ResponseDiff({ before, after }: { before: Detail; after: Detail }): JSX.Element {
  const lines = diffLines(responseText(before), responseText(after))
  const changes = lines.filter(({ kind }) => kind !== 'same').length
  return (
    <>
      <p class="hint">{changes === 0 ? 'The responses are equal.' : `${changes} changed lines`}</p>
      <pre class="diff" tabIndex={0} aria-label="Response diff">
        {lines.map(({ kind, text }, at) => (
          <span key={at} class={kind}>
            {`${diffSigns[kind]} ${text}\n`}
          </span>
        ))}
      </pre>
    </>
  )
}
