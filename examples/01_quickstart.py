from tagsight import StackedIBP
from tagsight.model.planted import draw_appearance, draw_planted

looks = draw_appearance(K=9, D=32, seed=0)  # 3 objects, 4 attributes, 2 things nobody tagged
photos = draw_planted(looks, n_free=2, n_photos=150, n_regions=20, noise=0.5, seed=1)

model = StackedIBP(n_objects=3, n_attributes=4, n_free=2, seed=0)
model.fit(photos.X, photos.tags, groups=photos.groups, edges=photos.edges)

found = model.assign_ > 0.5  # which factors are on in each region, learned from tags of whole photos
print(f"{(found == photos.assign)[:, :7].mean():.1%} of all (region, tag) pairs are right")
