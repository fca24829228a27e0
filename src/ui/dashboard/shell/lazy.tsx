import type { ComponentType, JSX } from 'preact'
import { useCallback, useEffect, useState } from 'preact/hooks'
import { ErrorBox } from '#ui/dashboard/shell/parts.tsx'

/** A component whose code is loaded when it is first shown, so that the first page is small. */
export function lazy<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let known: ComponentType<Props> | undefined
  return function Lazy(props: Props): JSX.Element {
    const [Loaded, setLoaded] = useState(() => known)
    const [error, setError] = useState<Error>()
    const start = useCallback(async () => {
      try {
        known = await load()
        const found = known
        setLoaded(() => found)
      } catch (cause) {
        // A new release has files of other names: only the whole page can be loaded again.
        setError(new Error('This page could not be loaded.', { cause }))
      }
    }, [])
    useEffect(() => {
      if (!known) void start()
    }, [start])
    if (error) return <ErrorBox error={error} retry={() => location.reload()} />
    return Loaded ? <Loaded {...props} /> : <p class="hint loading">Loading …</p>
  }
}
