/**
 * Programs that broadcast. `fields(ingest)`: what is typed into which setting, as `[setting, value, isSecret]`.
 * `command(ingest)`: what starts it. `fixes`: the setting that removes an issue, by the kinds of `advice.js`.
 */
export const encoders = [
  {
    id: 'obs',
    title: 'OBS Studio',
    fields: ({ url, key }) => [
      ['Settings → Stream → Service', 'Custom…'],
      ['Settings → Stream → Server', url],
      ['Settings → Stream → Stream Key', key, true],
      ['Settings → Output → Keyframe Interval', '2 s'],
    ],
    note: 'Set Output Mode to Advanced to see Keyframe Interval. Then press Start Streaming.',
    fixes: {
      keyFrames: 'Settings → Output → Output Mode: Advanced, then Streaming → Keyframe Interval: 2 s',
      bitrate: 'Settings → Output → Video Bitrate: 6000 Kbps or less',
      upload: 'Settings → Output → Video Bitrate: at most half of what your line uploads',
      videoCodec: 'Settings → Output → Video Encoder: x264, or a hardware encoder whose name has H.264',
      audioCodec: 'Settings → Output → Audio Encoder: AAC',
      noAudio:
        'Settings → Audio → Desktop Audio and Mic: choose a device. Look in the mixer that it is not muted',
      frames:
        'Settings → Output → CPU Usage Preset: veryfast, or a lower Settings → Video → Output Resolution',
      wrongKey: 'Settings → Stream → Stream Key: paste the key from above',
    },
  },
  {
    id: 'ffmpeg',
    title: 'ffmpeg',
    fields: ({ url, key }) => [['URL', `${url}/${key}`, true]],
    command: ({ url, key }) =>
      `ffmpeg -re -i film.mp4 -c:v libx264 -preset veryfast -b:v 4M -maxrate 4M -bufsize 8M \\
  -g 60 -keyint_min 60 -sc_threshold 0 -pix_fmt yuv420p \\
  -c:a aac -b:a 128k -ar 48000 -f flv ${url}/${key}`,
    note: 'With 30 frames a second, -g 60 is a key frame every 2 s.',
    fixes: {
      keyFrames: '-g 60 -keyint_min 60 -sc_threshold 0 (2 s at 30 frames a second)',
      bitrate: '-b:v 4M -maxrate 4M -bufsize 8M',
      upload: '-b:v 2M -maxrate 2M -bufsize 4M, or less',
      videoCodec: '-c:v libx264 -profile:v high -pix_fmt yuv420p',
      audioCodec: '-c:a aac -b:a 128k',
      noAudio: '-f lavfi -i anullsrc=r=48000:cl=stereo as a second input adds silence, with -c:a aac',
      frames: '-r 30 -preset veryfast, or a smaller picture: -vf scale=-2:720',
      wrongKey: 'the last part of the URL is the key: copy the command from above',
    },
  },
  {
    id: 'gstreamer',
    title: 'GStreamer',
    fields: ({ url, key }) => [['location', `${url}/${key}`, true]],
    command: ({ url, key }) =>
      `gst-launch-1.0 videotestsrc is-live=true ! video/x-raw,format=I420,width=1280,height=720,framerate=30/1 \\
  ! x264enc bitrate=4000 key-int-max=60 tune=zerolatency ! h264parse ! mux. \\
  audiotestsrc is-live=true ! audioconvert ! voaacenc bitrate=128000 ! aacparse ! mux. \\
  flvmux name=mux streamable=true ! rtmp2sink location=${url}/${key}`,
    note: 'Put your own sources in the place of videotestsrc and audiotestsrc.',
    fixes: {
      keyFrames: 'x264enc key-int-max=60 (2 s at 30 frames a second)',
      bitrate: 'x264enc bitrate=4000 (kbit/s)',
      upload: 'x264enc bitrate=2000 (kbit/s), or less',
      videoCodec: 'videoconvert ! video/x-raw,format=I420 ! x264enc',
      audioCodec: 'audioconvert ! voaacenc ! aacparse',
      noAudio: 'audiotestsrc wave=silence ! voaacenc ! aacparse ! mux. adds silence',
      frames: 'x264enc speed-preset=veryfast, or a smaller video/x-raw,width=…',
      wrongKey: 'rtmp2sink location=: its last part is the key. Copy the command from above',
    },
  },
  {
    id: 'larix',
    title: 'Larix',
    fields: ({ url, key }) => [
      ['Settings → Connections → New → URL', `${url}/${key}`, true],
      ['Settings → Video → Keyframe interval', '2 s'],
    ],
    note: 'The phone has to reach this address: localhost is the phone itself there.',
    fixes: {
      keyFrames: 'Settings → Video → Keyframe interval: 2 s',
      bitrate: 'Settings → Video → Bitrate: 4000 Kbps',
      upload: 'Settings → Adaptive bitrate: on, or a lower Settings → Video → Bitrate',
      videoCodec: 'Settings → Video → Format: H.264',
      audioCodec: 'Settings → Audio → Codec: AAC',
      noAudio: 'Settings → Connections → Mode: Audio + video, and allow the microphone',
      frames: 'Settings → Video → Resolution: 1280×720',
      wrongKey: 'Settings → Connections → URL: paste the URL from above',
    },
  },
  {
    id: 'other',
    title: 'Other',
    fields: ({ url, key }) => [
      ['Server', url],
      ['Stream key', key, true],
      ['Or both as one URL', `${url}/${key}`, true],
    ],
    note: 'RTMP with H.264 and AAC, and a key frame every 2 s.',
    fixes: {
      keyFrames: 'Key-frame interval (GOP): 2 s',
      bitrate: 'Video bitrate: 6 Mb/s or less',
      upload: 'Video bitrate: at most half of what your line uploads',
      videoCodec: 'Video codec: H.264, profile High, 4:2:0, 8 bits',
      audioCodec: 'Audio codec: AAC',
      noAudio: 'Choose an audio source',
      frames: 'A faster preset, or a smaller picture',
      wrongKey: 'Paste the key from above',
    },
  },
];

export const encoderOf = (id) => encoders.find((one) => one.id === id) ?? encoders[0];
