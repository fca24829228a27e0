import type { ComponentType, JSX } from 'preact'
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { ErrorBox } from '#ui/dashboard/shell/parts.tsx'

const RETRY_MS = 3000

/** Whether the document can be loaded: that needs the server, and the server its database. */
const canLoad = (): Promise<boolean> =>
  fetch(location.href, { method: 'HEAD' }).then(
    ({ ok }) => ok,
    () => false,
  )

/** Loads the document again when it could not be loaded for a while. */
function useReloadWhenBack(isWanted: boolean): void {
  useEffect(() => {
    if (!isWanted) return
    let wasDown = false
    let wasLeft = false
    const look = async (): Promise<void> => {
      const isBack = await canLoad()
      if (isBack && wasDown && !wasLeft) location.reload()
      wasDown ||= !isBack
    }
    void look()
    const timer = setInterval(() => void look(), RETRY_MS)
    return () => {
      wasLeft = true
      clearInterval(timer)
    }
  }, [isWanted])
}

/** A component whose code is loaded when it is first shown, so that the first page is small. */
export function lazy<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let known: ComponentType<Props> | undefined
  let hasFailed = false
  return function Lazy(props: Props): JSX.Element {
    const [Loaded, setLoaded] = useState(() => known)
    const [error, setError] = useState<Error>()
    const wasLeft = useRef(false)
    const start = useCallback(async () => {
      try {
        known = await load()
        const found = known
        setLoaded(() => found)
      } catch (cause) {
        // Browsers may keep a failure, and a new release has files of other names: then only a new document helps.
        if (hasFailed && (await canLoad()) && !wasLeft.current) return location.reload()
        hasFailed = true
        setError(new Error('This page could not be loaded.', { cause }))
      }
    }, [])
    useEffect(() => {
      if (!known) void start()
      return () => void (wasLeft.current = true)
    }, [start])
    useReloadWhenBack(error !== undefined)
    if (error) return <ErrorBox error={error} retry={() => location.reload()} />
    return Loaded ? <Loaded {...props} /> : <p class="hint loading">Loading …</p>
  }
}
