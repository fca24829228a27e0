// What the source uses and Node 20 lacks, as far as the source uses it: a library of polyfills would also load the client
// of `fetch` to look for it, which takes 5 MB.

/** Adds a function to an object of the language that lacks it. */
function add(target: object, name: string, value: (...args: never[]) => unknown): void {
  if (!(name in target)) Object.defineProperty(target, name, { value, writable: true, configurable: true })
}

add(Promise, 'withResolvers', <T>(): PromiseWithResolvers<T> => {
  let resolve: PromiseWithResolvers<T>['resolve'] = () => undefined
  let reject: PromiseWithResolvers<T>['reject'] = () => undefined
  const promise = new Promise<T>((settle, fail) => {
    resolve = settle
    reject = fail
  })
  return { promise, resolve, reject }
})

add(Map, 'groupBy', <K, T>(items: Iterable<T>, keyOf: (item: T, index: number) => K): Map<K, T[]> => {
  const groups = new Map<K, T[]>()
  let index = 0
  for (const item of items) {
    const key = keyOf(item, index++)
    const group = groups.get(key)
    if (group) group.push(item)
    else groups.set(key, [item])
  }
  return groups
})

add(URL, 'parse', (url: string, base?: string): URL | null =>
  URL.canParse(url, base) ? new URL(url, base) : null,
)
