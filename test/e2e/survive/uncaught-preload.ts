/** Loaded into a server before its own code: a signal has two errors thrown that no handler of the server can take. */
process.on('SIGURG', () => {
  setImmediate(() => {
    throw new Error('injected exception')
  })
  void Promise.reject(new Error('injected rejection'))
})
