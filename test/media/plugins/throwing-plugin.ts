import { definePlugin } from 'millrace/plugin';

/** Fails at the third part of every broadcast. */
export default definePlugin({
  id: 'throwing',
  summary: 'a plugin with a defect',
  contract: 3,
  media() {
    let parts = 0;
    return {
      sample() {},
      part() {
        parts += 1;
        if (parts === 3) throw new Error('a defect of the plugin');
      },
    };
  },
});
