module.exports = process.env['TEST_NGROK_PATH']
