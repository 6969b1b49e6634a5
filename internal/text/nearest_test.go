// SPDX-License-Identifier: Apache-2.0

package text

import "testing"

func TestDidYouMean(t *testing.T) {
	known := []string{"cores", "image", "imagePullPolicy", "ports", "env"}
	for path, want := range map[string]string{
		"spec.driver.corees": "did you mean cores?", "spec.imgae": "did you mean image?", "spec.Image": "did you mean image?", "imagePullPolice": "did you mean imagePullPolicy?",
		"spec.forts": "did you mean ports?", "spec.x": "", "spec.en": "did you mean env?", "spec.parts.mores": "did you mean cores?", "spec.motes": "", "": "",
	} {
		if got := DidYouMean(path, known); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
